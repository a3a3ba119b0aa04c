-- All tasks of a run by rank, or those named. ARGV: clock, REF, task ids.
-- Returns per task: id, its fields and values.
-- include ledger/run
local ids = #ARGV > 2 and { unpack(ARGV, 3) } or redis.call('ZRANGE', TASKS, 0, -1)
local reply = {}
for _, id in ipairs(ids) do
  reply[#reply + 1] = id
  reply[#reply + 1] = redis.call('HGETALL', TASK .. id)
end
return reply
