-- Single flight. Safe to repeat: a leader that asks again is still the leader.
-- KEYS[1] flight: hash: owner, state (flying | landed | failed), until (TIME, microseconds), failure
-- KEYS[2] flights: zset, key of a flight -> its `until`; the ones that are over are removed here
-- ARGV    join OWNER LEASE VAIN  -> {'lead'}, {'wait'}, {'landed'} or {'failed', failure}; VAIN 1: the caller
--                                   looked for what landed and did not find it
--         renew OWNER LEASE      -> 1, or 0 where somebody else flies by now
--         land OWNER KEEP        -> 1 or 0; others see 'landed' for KEEP
--         fail OWNER KEEP REASON -> 1 or 0; others see 'failed' for KEEP
--         leave OWNER            -> 1 or 0; the next one leads
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local action, owner = ARGV[1], ARGV[2]
local flight = redis.call('HMGET', KEYS[1], 'owner', 'state', 'until', 'failure')
local lives = flight[3] and tonumber(flight[3]) > now

local function store(state, span, failure)
  local ends = string.format('%.0f', now + tonumber(span))
  redis.call('HSET', KEYS[1], 'owner', owner, 'state', state, 'until', ends, 'failure', failure or '')
  redis.call('ZADD', KEYS[2], ends, KEYS[1])
end

if action == 'join' then
  for _, over in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, 20)) do
    redis.call('DEL', over)
    redis.call('ZREM', KEYS[2], over)
  end
  if lives and flight[2] == 'flying' and flight[1] ~= owner then
    return { 'wait' }
  elseif lives and flight[2] == 'landed' and ARGV[4] ~= '1' then
    return { 'landed' }
  elseif lives and flight[2] == 'failed' then
    return { 'failed', flight[4] }
  end
  store('flying', ARGV[3])
  return { 'lead' }
end

if not (lives and flight[1] == owner and flight[2] == 'flying') then
  return 0
end
if action == 'renew' then
  store('flying', ARGV[3])
elseif action == 'land' then
  store('landed', ARGV[3])
elseif action == 'fail' then
  store('failed', ARGV[3], ARGV[4])
else
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], KEYS[1])
end
return 1
