-- Commit the estimate of a model call, unless that would overrun a cap.
-- KEYS: run, its spend, sweeps. ARGV: call id, task id, estimate, caps of task, run and sweep ('' for none).
-- Money is in micro-dollars. Returns '', the name of the cap that would be overrun, or 'gone' for a run that is
-- not in the ledger. A repeat finds the call and changes nothing.
local sweep = redis.call('HGET', KEYS[1], 'sweep')
if not sweep then
  return 'gone'
end
local call, estimate = 'call:' .. ARGV[1], tonumber(ARGV[3])
if redis.call('HEXISTS', KEYS[2], call) == 1 then
  return ''
end

local committed = redis.call('HMGET', KEYS[2], 'task:' .. ARGV[2], 'committed')
committed[3] = redis.call('HGET', KEYS[3], sweep)
for at, name in ipairs({ 'task', 'run', 'sweep' }) do
  local cap = tonumber(ARGV[3 + at])
  if cap and tonumber(committed[at] or 0) + estimate > cap then
    return name
  end
end

redis.call('HSET', KEYS[2], call, 'unsettled ' .. ARGV[3] .. ' 0 0 0 ' .. ARGV[2])
redis.call('HINCRBY', KEYS[2], 'task:' .. ARGV[2], ARGV[3])
redis.call('HINCRBY', KEYS[2], 'committed', ARGV[3])
if sweep ~= '' then
  redis.call('HINCRBY', KEYS[3], sweep, ARGV[3])
end
return ''
