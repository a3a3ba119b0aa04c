-- Does the run need a finish job? ARGV: clock, REF, pause between two askings (us).
-- Returns 1 if nobody drains it and it is finishing, or its time (less the margin) is up, or it is a final run
-- with an undrained report. It is then left alone for the pause: the job may be on its way.
-- include ledger/run
local run = redis.call('HMGET', RUN, 'status', 'deadline', 'kind', 'again', 'owner', 'lease_until', 'asked')
if not active() or (run[5] and tonumber(run[6]) > NOW) then
  return 0
end
local needed = run[1] == 'finishing' or NOW >= tonumber(run[2]) - margin()
  or (run[3] == 'final' and run[4] == '1')
if not needed or (run[7] and NOW < tonumber(run[7]) + tonumber(ARGV[3])) then
  return 0
end
redis.call('HSET', RUN, 'asked', micros(NOW))
return 1
