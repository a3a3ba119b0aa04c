-- A lease goes on; it is never shortened. ARGV: clock, REF, seconds (us), then pairs of task id and fence.
-- Past the task's deadline nothing is renewed. Returns the pairs whose lease is over.
-- include ledger/run
local seconds = tonumber(ARGV[3])
local lost = {}
for at = 4, #ARGV, 2 do
  local id, key = ARGV[at], TASK .. ARGV[at]
  if holds(id, ARGV[at + 1]) and NOW < tonumber(redis.call('HGET', key, 'until')) then
    extend(id, seconds)
    redis.call('HDEL', key, 'graced')
  else
    lost[#lost + 1] = id
    lost[#lost + 1] = ARGV[at + 1]
  end
end
return lost
