-- Replace the decision once, after an effect was refused.
-- ARGV: clock, REF, task id, fence, solution JSON, journal position of its first effect.
-- Returns {'ok', the stored one, its first position}; the revision stored first stays.
-- include ledger/run
local id, key = ARGV[3], TASK .. ARGV[3]
if not holds(id, ARGV[4]) then
  return { 'lost' }
end
if redis.call('HSETNX', key, 'revised', 1) == 1 then
  redis.call('HSET', key, 'solution', ARGV[5], 'effects_from', ARGV[6])
  say('revised', id)
end
return { 'ok', unpack(redis.call('HMGET', key, 'solution', 'effects_from')) }
