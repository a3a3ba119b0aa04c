-- A queued task whose job is old goes back to those without one. ARGV: clock, REF, task id.
-- include ledger/run
if redis.call('ZREM', SENT, member(ARGV[3])) == 1 then
  queue(ARGV[3])
  say('resend', ARGV[3])
end
