-- The only irreversible step: the run ends, and nothing of it changes any more.
-- ARGV: clock, REF, fence, status (finished, expired, failed), scorecard JSON or '', reason or ''.
-- include ledger/run
if not active() then
  local run = redis.call('HMGET', RUN, 'fence', 'status')
  return { run[1] == ARGV[3] and run[2] == ARGV[4] and 'ok' or 'lost' }
end
if not drains(ARGV[3]) then
  return { 'lost' }
end
redis.call('HSET', RUN, 'status', ARGV[4], 'ended_at', micros(NOW), 'scorecard', ARGV[5], 'reason', ARGV[6])
redis.call('HDEL', RUN, 'owner', 'lease_until')
for _, id in ipairs(redis.call('ZRANGE', TASKS, 0, -1)) do
  for _, set in ipairs({ LEASES, DUE, SENT }) do
    redis.call('ZREM', set, member(id))
  end
end
redis.call('DEL', UNSENT)
say(ARGV[4], '', 'reason', ARGV[6])
return { 'ok' }
