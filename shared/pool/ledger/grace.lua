-- After an outage of Redis each lease gets one more lease time, and its end is not counted as a kill.
-- ARGV: clock, REF, task id.
-- include ledger/run
local id = ARGV[3]
local task = redis.call('HMGET', TASK .. id, 'status', 'lease_us')
if task[1] == 'leased' and active() then
  extend(id, tonumber(task[2]))
  redis.call('HSET', TASK .. id, 'graced', 1)
end
