-- Write what became of an effect; the result written first stays.
-- KEYS: keys.ledger(ref), journal. ARGV: clock, REF, task id, fence, position, tool, verdict, result JSON.
-- Returns {'ok', entry}: "done RESULT".
-- include ledger/run
local id, journal, field = ARGV[3], KEYS[13], ARGV[3] .. '/' .. ARGV[5]
if not holds(id, ARGV[4]) then
  return { 'lost' }
end
local entry = redis.call('HGET', journal, field)
if not entry or string.sub(entry, 1, 5) ~= 'done ' then
  entry = 'done ' .. ARGV[8]
  redis.call('HSET', journal, field, entry)
  say('effect', id, 'position', ARGV[5], 'tool', ARGV[6], 'verdict', ARGV[7])
end
return { 'ok', entry }
