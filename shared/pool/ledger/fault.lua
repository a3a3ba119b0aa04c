-- leased -> waiting, or gave_up: the solver raised, or returned rubbish; an attempt is used up.
-- ARGV: clock, REF, task id, fence, reason, back-off (us; times the number of faults).
-- Returns {'ok', status, '1' if the caller must send the finish job}. A repeat counts nothing.
-- include ledger/run
local id, key = ARGV[3], TASK .. ARGV[3]
if holds(id, ARGV[4]) then
  leave(id)
  if not fault(id, ARGV[5]) then
    local due = micros(NOW + tonumber(ARGV[6]) * tonumber(redis.call('HGET', key, 'faults')))
    redis.call('HSET', key, 'status', 'waiting', 'due', due)
    redis.call('ZADD', DUE, due, member(id))
    say('fault', id, 'reason', ARGV[5])
  end
elseif redis.call('HGET', key, 'fence') ~= ARGV[4] or not active() then
  return { 'lost' }
end
local status = redis.call('HGET', key, 'status')
local over = status ~= 'waiting' and status ~= 'queued'
return { 'ok', status, over and must_finish(id) or '0' }
