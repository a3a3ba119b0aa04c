-- Take queued tasks that have no job, lowest rank first, and mark them as sent. ARGV: clock, REF, limit.
-- A task that was in `attempts` deaths of workers already goes alone: one such suspect of a run at a time. So
-- the next death tells the task that kills from those that were only beside it.
-- A repeat takes others; what a lost answer named is old after a while, and sent again (stale_sent).
-- include ledger/run
if run_status() ~= 'solving' then
  return {}
end

local function is_out(id)
  local status = redis.call('HGET', TASK .. id, 'status')
  return status == 'leased' or (status == 'queued' and not redis.call('ZSCORE', UNSENT, id))
end

local run = redis.call('HMGET', RUN, 'attempts', 'suspect')
local attempts, suspect = tonumber(run[1]), run[2]
local taken = {}
for _, id in ipairs(redis.call('ZRANGE', UNSENT, 0, -1)) do
  if #taken == tonumber(ARGV[3]) then
    break
  end
  local suspected = tonumber(redis.call('HGET', TASK .. id, 'kills') or 0) >= attempts
  if not suspected or not suspect or not is_out(suspect) then
    if suspected then
      suspect = id
      redis.call('HSET', RUN, 'suspect', id)
    end
    redis.call('ZREM', UNSENT, id)
    redis.call('ZADD', SENT, micros(NOW), member(id))
    taken[#taken + 1] = id
  end
end
return taken
