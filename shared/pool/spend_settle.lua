-- Replace the estimate of a model call by its cost; the cost written first stays.
-- KEYS: run, its spend, sweeps. ARGV: call id, task id, cost, tokens in, of these cached, tokens out.
-- Money is in micro-dollars. Returns 0 for a run that is not in the ledger: nothing is written then.
local sweep = redis.call('HGET', KEYS[1], 'sweep')
if not sweep then
  return 0
end
local call = 'call:' .. ARGV[1]
local state, before = string.match(redis.call('HGET', KEYS[2], call) or 'unsettled 0', '^(%a+) (%d+)')
if state == 'settled' then
  return 1
end
redis.call('HSET', KEYS[2], call, table.concat({ 'settled', ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[2] }, ' '))
local more = string.format('%.0f', tonumber(ARGV[3]) - tonumber(before))
redis.call('HINCRBY', KEYS[2], 'task:' .. ARGV[2], more)
redis.call('HINCRBY', KEYS[2], 'committed', more)
if sweep ~= '' then
  redis.call('HINCRBY', KEYS[3], sweep, more)
end
return 1
