-- Give the run's lease back. ARGV: clock, REF, fence.
-- Returns 1, and keeps the lease, if something was reported or asked for since the last look (unsubmitted).
-- include ledger/run
if redis.call('HGET', RUN, 'fence') ~= ARGV[3] or not redis.call('HGET', RUN, 'owner') then
  return 0
end
if redis.call('HGET', RUN, 'again') == '1' and active() then
  return 1
end
redis.call('HDEL', RUN, 'owner', 'lease_until')
return 0
