-- The run's lease goes on. ARGV: clock, REF, fence, seconds (us).
-- include ledger/run
if not drains(ARGV[3]) or not redis.call('HGET', RUN, 'owner') then
  return { 'lost' }
end
redis.call('HSET', RUN, 'lease_until', micros(NOW + tonumber(ARGV[4])))
return { 'ok' }
