-- submitting -> submitted, with the platform's receipt; the first receipt stays.
-- ARGV: clock, REF, fence, task id, receipt JSON, '1' if the platform accepted it.
-- include ledger/run
local key = TASK .. ARGV[4]
if not drains(ARGV[3]) then
  return { 'lost' }
end
local status = redis.call('HGET', key, 'status')
if status == 'solved' or status == 'submitting' then
  redis.call('HSET', key, 'status', 'submitted', 'receipt', ARGV[5])
  say('submitted', ARGV[4], 'accepted', ARGV[6])
end
return { 'ok' }
