-- May the run be sealed: everything has reported and is submitted, or its time (less the margin) is up?
-- ARGV: clock, REF. When time is up it is finishing: no task is leased any more.
-- include ledger/run
if not active() then
  return 0
end
if NOW >= tonumber(redis.call('HGET', RUN, 'deadline')) - margin() then
  start_finishing('time is up')
  return 1
end
if redis.call('SCARD', PENDING) > 0 then
  return 0
end
for _, id in ipairs(redis.call('ZRANGE', TASKS, 0, -1)) do
  local status = redis.call('HGET', TASK .. id, 'status')
  if status == 'solved' or status == 'submitting' then
    return 0
  end
end
return 1
