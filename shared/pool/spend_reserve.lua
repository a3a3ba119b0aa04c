-- Commit the estimate of a model call, unless that would overrun a cap.
-- KEYS: run, its spend, sweeps. ARGV: call id, task id, estimate, caps of task, run and sweep ('' for none), how
-- long a first call is waited for (us). Money is in micro-dollars. Returns '', the name of the cap that would be
-- overrun, 'wait', or 'gone' for a run that is not in the ledger. A repeat finds the call and changes nothing.
--
-- An estimate is raised by the most that a call of this sweep (of this run, outside a sweep) cost beside its own.
-- Until one has been paid nobody knows that: with a cap that many share, one call at a time is made until then.
local sweep = redis.call('HGET', KEYS[1], 'sweep')
if not sweep then
  return 'gone'
end
local call = 'call:' .. ARGV[1]
if redis.call('HEXISTS', KEYS[2], call) == 1 then
  return ''
end

local book, prefix = KEYS[2], ''
if sweep ~= '' then
  book, prefix = KEYS[3], sweep .. ' '
end
local permille = tonumber(redis.call('HGET', book, prefix .. 'permille') or 0)
local estimate = math.ceil(tonumber(ARGV[3]) * math.max(permille, 1000) / 1000)

local committed = redis.call('HMGET', KEYS[2], 'task:' .. ARGV[2], 'committed')
committed[3] = redis.call('HGET', KEYS[3], sweep)
for at, name in ipairs({ 'task', 'run', 'sweep' }) do
  local cap = tonumber(ARGV[3 + at])
  if cap and tonumber(committed[at] or 0) + estimate > cap then
    return name
  end
end
if permille == 0 and (ARGV[5] ~= '' or ARGV[6] ~= '') then
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  if now < tonumber(redis.call('HGET', book, prefix .. 'first') or 0) then
    return 'wait'
  end
  redis.call('HSET', book, prefix .. 'first', string.format('%.0f', now + tonumber(ARGV[7])))
end

local amount = string.format('%.0f', estimate)
redis.call('HSET', KEYS[2], call, 'unsettled ' .. amount .. ' 0 0 0 ' .. ARGV[2], 'said:' .. ARGV[1], ARGV[3])
redis.call('HINCRBY', KEYS[2], 'task:' .. ARGV[2], amount)
redis.call('HINCRBY', KEYS[2], 'committed', amount)
if sweep ~= '' then
  redis.call('HINCRBY', KEYS[3], sweep, amount)
end
return ''
