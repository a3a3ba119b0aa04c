-- Delete every key of a sealed run. KEYS go on after those of keys.ledger(ref) with keys.of_run(ref).
-- ARGV: clock, REF. Returns 0 for a run that is not sealed. A repeat finds nothing to do.
-- include ledger/run
if active() then
  return 0
end
for at = 13, #KEYS do
  redis.call('DEL', KEYS[at])
end
redis.call('ZREM', RUNS, REF)
redis.call('HDEL', CLAIMS, REF)
return 1
