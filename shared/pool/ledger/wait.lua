-- leased -> waiting: a come-back (state JSON) or an infrastructure failure (reason). No attempt is used up.
-- ARGV: clock, REF, task id, fence, after (us), reason, state or '' to keep the last one. Returns {'ok'}.
-- include ledger/run
local id, key = ARGV[3], TASK .. ARGV[3]
local task = redis.call('HMGET', key, 'status', 'fence')
if task[2] == ARGV[4] and (task[1] == 'waiting' or task[1] == 'queued') then
  return { 'ok' }
end
if not holds(id, ARGV[4]) then
  return { 'lost' }
end
leave(id)
local due = micros(NOW + tonumber(ARGV[5]))
redis.call('HSET', key, 'status', 'waiting', 'due', due, 'reason', ARGV[6])
if ARGV[7] ~= '' then
  redis.call('HSET', key, 'state', ARGV[7])
end
redis.call('ZADD', DUE, due, member(id))
say('waiting', id, 'reason', ARGV[6])
return { 'ok' }
