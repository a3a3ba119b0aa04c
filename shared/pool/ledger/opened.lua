-- opening -> solving: create the run and its tasks.
-- ARGV: clock, REF, request id, request JSON, run JSON, kind, sweep, seconds until the deadline (us), seconds
-- per lease's work (us), attempts, slack before the deadline (us), seconds per submission (us), then per task: its
-- id, its receipt or '', its rank.
-- Returns 1 if the run belongs to this request, now or already; 0 if to another.
-- include ledger/run
local request_id = ARGV[3]
redis.call('HSETNX', CLAIMS, REF, request_id)
if redis.call('HGET', CLAIMS, REF) ~= request_id then
  return 0
end
redis.call('HDEL', OPENINGS, request_id)
if redis.call('EXISTS', RUN) == 1 then
  return 1
end
redis.call('HSET', RUN, 'request_id', request_id, 'request', ARGV[4], 'run', ARGV[5], 'kind', ARGV[6],
  'sweep', ARGV[7], 'deadline', micros(NOW + tonumber(ARGV[8])), 'task_us', ARGV[9], 'attempts', ARGV[10],
  'slack_us', ARGV[11], 'submit_us', ARGV[12], 'status', 'solving', 'opened_at', micros(NOW), 'requests', 0)
redis.call('ZADD', RUNS, micros(NOW), REF)
say('opened', '')
for at = 13, #ARGV, 3 do
  local id, receipt = ARGV[at], ARGV[at + 1]
  redis.call('ZADD', TASKS, at, id)
  redis.call('HSET', TASK .. id, 'rank', ARGV[at + 2])
  if receipt == '' then
    redis.call('SADD', PENDING, id)
    queue(id)
  else
    redis.call('HSET', TASK .. id, 'status', 'submitted', 'receipt', receipt)
  end
end
if redis.call('SCARD', PENDING) == 0 then
  start_finishing('nothing is left to solve')
end
return 1
