-- Write the intent of an effect, and see that the task's lease outlives the request that is about to be made.
-- KEYS: keys.ledger(ref), journal. ARGV: clock, REF, task id, fence, position, time-out (us),
-- tool, calls seen or '-', effect JSON.
-- Returns {'ok', entry}: the new one ("intent FENCE SEEN EFFECT"), or the one that was there.
-- include ledger/run
local id, key, journal, field = ARGV[3], TASK .. ARGV[3], KEYS[13], ARGV[3] .. '/' .. ARGV[5]
if not holds(id, ARGV[4]) or NOW >= tonumber(redis.call('HGET', key, 'until')) then
  return { 'lost' }
end
if redis.call('HEXISTS', key, 'solution') == 0 then
  return { 'no decision is stored' }
end
extend(id, tonumber(ARGV[6]))
local intent = table.concat({ 'intent', ARGV[4], ARGV[8], ARGV[9] }, ' ')
if redis.call('HSETNX', journal, field, intent) == 1 then
  say('intent', id, 'position', ARGV[5], 'tool', ARGV[7])
end
return { 'ok', redis.call('HGET', journal, field) }
