-- Heartbeats. Safe to repeat.
-- KEYS[1] workers: hash, node -> TIME in microseconds, a space, heartbeat as JSON
-- KEYS[2] born: string, see bucket.lua (beat only)
-- ARGV    beat NODE JSON  -> nil
--         live WITHIN     -> {time, JSON, time, JSON, ...} of those heard in the last WITHIN microseconds
--         sweep SILENT    -> how many silent ones were removed
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local stamp = string.format('%.0f', now)

if ARGV[1] == 'beat' then
  redis.call('HSET', KEYS[1], ARGV[2], stamp .. ' ' .. ARGV[3])
  -- Workers beat before the first run: the bucket's proof (nothing lost since then) starts with them.
  redis.call('SET', KEYS[2], stamp, 'NX')
  return nil
end

local limit = tonumber(ARGV[2])
local all = redis.call('HGETALL', KEYS[1])
local live, removed = {}, 0
for i = 1, #all, 2 do
  local at, json = string.match(all[i + 1], '^(%d+) (.*)$')
  if now - tonumber(at) <= limit then
    live[#live + 1] = at
    live[#live + 1] = json
  elseif ARGV[1] == 'sweep' then
    redis.call('HDEL', KEYS[1], all[i])
    removed = removed + 1
  end
end
if ARGV[1] == 'sweep' then
  return removed
end
return live
