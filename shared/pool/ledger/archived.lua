-- Mark a sealed run as archived: it may be removed. ARGV: clock, REF. Returns 0 for a run that is not sealed.
-- include ledger/run
if active() or not run_status() then
  return 0
end
redis.call('HSET', RUN, 'archived', micros(NOW))
return 1
