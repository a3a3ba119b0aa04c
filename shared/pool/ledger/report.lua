-- leased -> solved. ARGV: clock, REF, task id, fence. Returns {'ok', '1' if the caller must send the finish job}.
-- A repeat by the same lease gets the same answer, whatever happened to the solution since.
-- include ledger/run
local id, key = ARGV[3], TASK .. ARGV[3]
local task = redis.call('HMGET', key, 'status', 'fence', 'solution')
local status = task[1]
if task[2] == ARGV[4] and (status == 'solved' or status == 'submitting' or status == 'submitted') then
  return { 'ok', must_finish(id) }
end
if not holds(id, ARGV[4]) then
  return { 'lost' }
end
if not task[3] then
  return { 'undecided' }
end
leave(id)
redis.call('HSET', key, 'status', 'solved')
redis.call('HDEL', key, 'reason')
say('solved', id)
reported(id)
return { 'ok', must_finish(id) }
