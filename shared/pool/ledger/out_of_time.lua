-- Is the run being solved though its time (less the margin) is up by this clock? ARGV: clock, REF.
-- include ledger/run
return run_status() == 'solving' and NOW >= tonumber(redis.call('HGET', RUN, 'deadline')) - margin() and 1 or 0
