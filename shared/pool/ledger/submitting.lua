-- solved -> submitting: written before the platform is called, so that a later drain looks first.
-- ARGV: clock, REF, fence, task ids.
-- include ledger/run
if not drains(ARGV[3]) then
  return { 'lost' }
end
for at = 4, #ARGV do
  local key = TASK .. ARGV[at]
  if redis.call('HGET', key, 'status') == 'solved' then
    redis.call('HSET', key, 'status', 'submitting')
    say('submitting', ARGV[at])
  end
end
return { 'ok' }
