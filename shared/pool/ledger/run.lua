-- What the scripts on one run have in common. The keys are those of keys.ledger(ref), in its order:
--
-- RUN hash, TASKS zset (all ids by rank), TASK (beginning of the task hashes' names), PENDING set, UNSENT zset,
-- EVENTS stream; of all runs: LEASES, DUE, SENT zsets of REF|ID, RUNS zset, CLAIMS hash, OPENINGS hash.
-- ARGV[1] is the clock, ARGV[2] REF; each script says what else it takes. A first element 'lost' in a reply is
-- raised as LeaseLost. shared.pool.keys describes the keys, docs/ledger.md the transitions.
-- include ledger/clock
local RUN, TASKS, TASK, PENDING, UNSENT, EVENTS, LEASES, DUE, SENT, RUNS, CLAIMS, OPENINGS = unpack(KEYS)
local REF = ARGV[2]

local function member(id)
  return REF .. '|' .. id
end

-- Narrate a transition: a name, the task or '', then pairs of small texts.
local function say(name, id, ...)
  redis.call('XADD', EVENTS, 'MAXLEN', '~', 20000, '*', 'name', name, 'task', id, ...)
end

local function run_status()
  return redis.call('HGET', RUN, 'status')
end

-- True until the run is sealed.
local function active()
  local status = run_status()
  return status == 'solving' or status == 'finishing'
end

-- A fencing number above `last`. It is taken from the clock, so it also grows when Redis came back empty.
local function next_fence(last)
  return micros(math.max(NOW, (tonumber(last) or 0) + 1))
end

-- True for the holder of the task's newest lease. The clock does not matter: a lease is over when it is taken back.
local function holds(id, fence)
  local task = redis.call('HMGET', TASK .. id, 'status', 'fence')
  return task[1] == 'leased' and task[2] == fence and active()
end

-- The lease goes on for so many microseconds from now; it is never shortened.
local function extend(id, micros_more)
  local key = TASK .. id
  local stop = micros(math.max(NOW + micros_more, tonumber(redis.call('HGET', key, 'lease_until'))))
  redis.call('HSET', key, 'lease_until', stop)
  redis.call('ZADD', LEASES, stop, member(id))
end

-- True for the holder of the run's newest lease.
local function drains(fence)
  return redis.call('HGET', RUN, 'fence') == fence and active()
end

-- The lease ends here, whatever comes next.
local function leave(id)
  redis.call('ZREM', LEASES, member(id))
end

local function queue(id)
  redis.call('HSET', TASK .. id, 'status', 'queued')
  redis.call('ZADD', UNSENT, redis.call('HGET', TASK .. id, 'rank') or redis.call('ZSCORE', TASKS, id), id)
end

-- Microseconds before its deadline at which a run is drained for the last time and sealed: the slack, and for each
-- task not submitted yet as long as a submission takes now; at most two minutes or a quarter of the run.
local function margin()
  local run = redis.call('HMGET', RUN, 'slack_us', 'submit_us', 'opened_at', 'deadline')
  local slack = tonumber(run[1] or 0)
  if slack == 0 then
    return 0
  end
  local left = 0
  for _, id in ipairs(redis.call('ZRANGE', TASKS, 0, -1)) do
    local status = redis.call('HGET', TASK .. id, 'status')
    if status ~= 'submitted' and status ~= 'gave_up' then
      left = left + 1
    end
  end
  return math.min(slack + left * tonumber(run[2]), 120000000, (tonumber(run[4]) - tonumber(run[3])) / 4)
end

-- '1' where the one who reported `id` must send the finish job: each report of a final run, the last of a dev run.
-- The tender then waits a while before it sends another.
local function must_finish(id)
  local run = redis.call('HMGET', RUN, 'kind', 'closer')
  if run[1] ~= 'final' and run[2] ~= id then
    return '0'
  end
  if active() then
    redis.call('HSET', RUN, 'asked', micros(NOW))
  end
  return '1'
end

-- From here on no task is leased any more.
local function start_finishing(reason)
  if run_status() == 'solving' then
    redis.call('HSET', RUN, 'status', 'finishing')
    say('finishing', '', 'reason', reason)
  end
end

-- The task has reported: it is solved, or it gave up.
local function reported(id)
  redis.call('SREM', PENDING, id)
  redis.call('HSET', RUN, 'again', 1)
  if redis.call('SCARD', PENDING) == 0 then
    redis.call('HSET', RUN, 'closer', id)
    start_finishing('every task has reported')
  end
end

-- No attempt is left. A task that has a decision is solved all the same: it is submitted as it is.
local function give_up(id, reason)
  local decided = redis.call('HEXISTS', TASK .. id, 'solution') == 1
  local status = decided and 'solved' or 'gave_up'
  redis.call('HSET', TASK .. id, 'status', status, 'reason', reason)
  say(status, id, 'reason', reason)
  reported(id)
end

-- One more attempt was used up by the solver. Returns true if it was the last.
local function fault(id, reason)
  local faults = redis.call('HINCRBY', TASK .. id, 'faults', 1)
  redis.call('HSET', TASK .. id, 'reason', reason)
  if faults < tonumber(redis.call('HGET', RUN, 'attempts')) then
    return false
  end
  give_up(id, reason)
  return true
end
