-- One consistent look at a run. ARGV: clock, REF, status or '' for any.
-- Returns {now, the run's fields and values, per task: id, status, reason, receipt}; nil where there is no such run.
-- include ledger/run
local run = redis.call('HGETALL', RUN)
if #run == 0 or (ARGV[3] ~= '' and run_status() ~= ARGV[3]) then
  return nil
end
local tasks = {}
for _, id in ipairs(redis.call('ZRANGE', TASKS, 0, -1)) do
  local task = redis.call('HMGET', TASK .. id, 'status', 'reason', 'receipt')
  for _, value in ipairs({ id, task[1], task[2] or '', task[3] or '' }) do
    tasks[#tasks + 1] = value
  end
end
return { micros(NOW), run, tasks }
