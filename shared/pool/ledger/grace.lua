-- After an outage of Redis each lease gets one more lease time, and its end is not counted as a kill.
-- ARGV: clock, REF, task id.
-- include ledger/run
local key = TASK .. ARGV[3]
local task = redis.call('HMGET', key, 'status', 'lease_us', 'lease_until')
if task[1] == 'leased' and active() then
  local stop = micros(math.max(NOW + tonumber(task[2]), tonumber(task[3])))
  redis.call('HSET', key, 'lease_until', stop, 'graced', 1)
  redis.call('ZADD', LEASES, stop, member(ARGV[3]))
end
