-- waiting -> queued: its due time has come. ARGV: clock, REF, task id. Returns 1 if it was woken.
-- include ledger/run
local id = ARGV[3]
local due = redis.call('ZSCORE', DUE, member(id))
if not due or tonumber(due) > NOW then
  return 0
end
redis.call('ZREM', DUE, member(id))
queue(id)
say('queued', id)
return 1
