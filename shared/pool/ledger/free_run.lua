-- The run's lease ends now where its finalizer is dead for certain, and a finish job may be asked for at once.
-- ARGV: clock, REF, what the owner's token begins with.
-- include ledger/run
local owner = redis.call('HGET', RUN, 'owner')
if owner and string.sub(owner, 1, #ARGV[3]) == ARGV[3] and active() then
  redis.call('HSET', RUN, 'lease_until', micros(NOW))
  redis.call('HDEL', RUN, 'asked')
end
