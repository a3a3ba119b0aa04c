-- queued -> leased. ARGV: clock, REF, task id, owner, seconds (us).
-- Returns {"none"} if there is nothing to do, else {"ok", run JSON, request JSON, now, fence, until, faults,
-- deliveries, state, solution, revised, effects_from}. The owner of a lease gets the same one again.
-- include ledger/run
local id, owner, seconds = ARGV[3], ARGV[4], tonumber(ARGV[5])
local key = TASK .. id
local task = redis.call('HMGET', key, 'status', 'owner', 'fence')
local run = redis.call('HMGET', RUN, 'status', 'deadline', 'task_us', 'run', 'request')
if not (task[1] == 'leased' and task[2] == owner and active()) then
  if task[1] ~= 'queued' or run[1] ~= 'solving' then
    return { 'none' }
  end
  local last = tonumber(run[2]) - margin()
  if NOW >= last then
    return { 'none' }
  end
  local stop = math.min(last, NOW + tonumber(run[3]))
  redis.call('HSET', key, 'status', 'leased', 'owner', owner, 'fence', next_fence(task[3]),
    'until', micros(stop), 'lease_us', ARGV[5], 'lease_until', micros(NOW + seconds))
  redis.call('HDEL', key, 'graced')
  redis.call('ZREM', UNSENT, id)
  redis.call('ZREM', SENT, member(id))
  redis.call('ZADD', LEASES, micros(NOW + seconds), member(id))
  local deliveries = redis.call('HINCRBY', key, 'deliveries', 1)
  say('leased', id, 'owner', owner, 'delivery', deliveries)
end
local reply = redis.call('HMGET', key, 'fence', 'until', 'faults', 'deliveries', 'state', 'solution', 'revised',
  'effects_from')
return { 'ok', run[4], run[5], micros(NOW), unpack(reply) }
