-- One worker tends at a time. KEYS: tending. ARGV: clock, owner, seconds (us). Returns 1 for the one who may.
-- include ledger/clock
local tending = redis.call('HMGET', KEYS[1], 'owner', 'until')
if tending[1] and tending[1] ~= ARGV[2] and tonumber(tending[2]) > NOW then
  return 0
end
redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'until', micros(NOW + tonumber(ARGV[3])))
return 1
