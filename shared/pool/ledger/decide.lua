-- Store the decision on a task before its first effect; the one stored first stays.
-- ARGV: clock, REF, task id, fence, solution JSON. Returns {'ok', the stored one}.
-- include ledger/run
local id = ARGV[3]
if not holds(id, ARGV[4]) then
  return { 'lost' }
end
if redis.call('HSETNX', TASK .. id, 'solution', ARGV[5]) == 1 then
  say('decided', id)
end
return { 'ok', redis.call('HGET', TASK .. id, 'solution') }
