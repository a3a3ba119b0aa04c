-- The lease of a worker that is dead for certain ends now. ARGV: clock, REF, task id, what the owner's token begins with.
-- Where a decision is stored an effect may still be under way: that lease runs out as it is.
-- include ledger/run
local id, key = ARGV[3], TASK .. ARGV[3]
local task = redis.call('HMGET', key, 'status', 'owner', 'solution')
if task[1] == 'leased' and not task[3] and string.sub(task[2], 1, #ARGV[4]) == ARGV[4] and active() then
  redis.call('HSET', key, 'lease_until', micros(NOW))
  redis.call('ZADD', LEASES, micros(NOW), member(id))
end
