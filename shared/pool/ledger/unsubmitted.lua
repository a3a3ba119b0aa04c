-- What there is to submit; whatever is reported from here on sets `again`. ARGV: clock, REF, fence.
-- Returns {'ok', then by rank: id, status, solution JSON}.
-- include ledger/run
if not drains(ARGV[3]) then
  return { 'lost' }
end
redis.call('HSET', RUN, 'again', 0)
local reply = { 'ok' }
for _, id in ipairs(redis.call('ZRANGE', TASKS, 0, -1)) do
  local task = redis.call('HMGET', TASK .. id, 'status', 'solution')
  if task[1] == 'solved' or task[1] == 'submitting' then
    reply[#reply + 1] = id
    reply[#reply + 1] = task[1]
    reply[#reply + 1] = task[2]
  end
end
return reply
