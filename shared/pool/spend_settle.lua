-- Replace the estimate of a model call by its cost; the cost written first stays.
-- KEYS: run, its spend, sweeps. ARGV: call id, task id, cost, tokens in, of these cached, tokens out.
-- Money is in micro-dollars. Returns 0 for a run that is not in the ledger: nothing is written then.
local sweep = redis.call('HGET', KEYS[1], 'sweep')
if not sweep then
  return 0
end
local call, said = 'call:' .. ARGV[1], 'said:' .. ARGV[1]
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

-- What spend_reserve raises estimates by. A call that was turned down was no call: the next one is the first.
local book, prefix = KEYS[2], ''
if sweep ~= '' then
  book, prefix = KEYS[3], sweep .. ' '
end
local estimate = tonumber(redis.call('HGET', KEYS[2], said) or 0)
redis.call('HDEL', KEYS[2], said)
if tonumber(ARGV[3]) > 0 or tonumber(ARGV[4]) > 0 then
  local permille = tonumber(redis.call('HGET', book, prefix .. 'permille') or 1)
  if estimate > 0 then
    permille = math.max(permille, math.ceil(tonumber(ARGV[3]) / estimate * 1000))
  end
  redis.call('HSET', book, prefix .. 'permille', string.format('%.0f', permille))
  redis.call('HDEL', book, prefix .. 'first')
elseif redis.call('HGET', book, prefix .. 'permille') == false then
  redis.call('HDEL', book, prefix .. 'first')
end
return 1
