-- How long submissions take now: a moving figure, in which the newest counts for three tenths.
-- ARGV: clock, REF, fence, seconds per submission (us).
-- include ledger/run
if not drains(ARGV[3]) then
  return { 'lost' }
end
local before = tonumber(redis.call('HGET', RUN, 'submit_us') or ARGV[4])
redis.call('HSET', RUN, 'submit_us', micros(0.7 * before + 0.3 * tonumber(ARGV[4])))
return { 'ok' }
