-- Count a tool call that changes nothing but is counted by the platform.
-- KEYS: keys.ledger(ref), journal. ARGV: clock, REF, task id, fence, a token of this call. Returns {'ok'}.
-- include ledger/run
if not holds(ARGV[3], ARGV[4]) then
  return { 'lost' }
end
redis.call('HSET', KEYS[13], ARGV[3] .. '/read:' .. ARGV[5], '')
return { 'ok' }
