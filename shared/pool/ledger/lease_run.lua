-- Take the run's lease, to drain and seal it. ARGV: clock, REF, owner, seconds (us).
-- Returns the fence, or nil: the run is sealed, or somebody else drains it and is told to go round once more.
-- The owner of the lease gets the same one again.
-- include ledger/run
if not active() then
  return nil
end
local run = redis.call('HMGET', RUN, 'owner', 'lease_until', 'fence')
if run[1] and run[1] ~= ARGV[3] and tonumber(run[2]) > NOW then
  redis.call('HSET', RUN, 'again', 1)
  return nil
end
local fence = run[1] == ARGV[3] and run[3] or next_fence(run[3])
redis.call('HSET', RUN, 'owner', ARGV[3], 'fence', fence, 'lease_until', micros(NOW + tonumber(ARGV[4])))
return fence
