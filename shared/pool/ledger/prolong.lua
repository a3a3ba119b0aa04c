-- The platform says that more time is left than this clock does: Redis's clock was set forward, or the deadline put
-- off. ARGV: clock, REF, time left (us), by so much more at least (us).
-- Returns 1 if the run goes on.
-- include ledger/run
local deadline = NOW + tonumber(ARGV[3])
if run_status() ~= 'solving' or deadline < tonumber(redis.call('HGET', RUN, 'deadline')) + tonumber(ARGV[4]) then
  return 0
end
redis.call('HSET', RUN, 'deadline', micros(deadline))
say('prolonged', '', 'seconds_left', string.format('%.0f', tonumber(ARGV[3]) / 1000000))
return 1
