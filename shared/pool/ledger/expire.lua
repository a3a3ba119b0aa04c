-- leased -> queued, or gave_up: take back a lease that ran out. ARGV: clock, REF, task id.
-- Returns the new status, nil if the lease was renewed in between. The fence moves, so the old holder is out.
-- After a grace nothing is counted. Past the task's deadline the solver is at fault. Else a worker died, and may
-- have taken innocent neighbours along: only the kill after `attempts` others counts (take_unsent saw to it that
-- this one was alone).
-- include ledger/run
local id, key = ARGV[3], TASK .. ARGV[3]
local task = redis.call('HMGET', key, 'status', 'lease_until', 'fence', 'graced', 'until')
if task[1] ~= 'leased' or tonumber(task[2]) > NOW or not active() then
  return nil
end
leave(id)
redis.call('HSET', key, 'fence', next_fence(task[3]))
if task[4] then
  say('lost', id, 'reason', 'an outage')
elseif NOW >= tonumber(task[5]) then
  say('lost', id, 'reason', 'no answer by the deadline of the task')
  if fault(id, 'no answer by the deadline of the task') then
    return redis.call('HGET', key, 'status')
  end
else
  local kills = redis.call('HINCRBY', key, 'kills', 1)
  say('lost', id, 'reason', 'its worker fell silent')
  if kills > tonumber(redis.call('HGET', RUN, 'attempts')) then
    give_up(id, 'its worker fell silent ' .. kills .. ' times')
    return redis.call('HGET', key, 'status')
  end
end
queue(id)
return 'queued'
