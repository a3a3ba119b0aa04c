-- The blob cache. Safe to repeat. Only the blobs themselves have a TTL, so only they may be evicted; the index
-- may name one that is gone, until it is asked for or trimmed.
-- KEYS[1] blobs: zset, sha -> last use (TIME, microseconds)
-- KEYS[2] blobs:sizes: hash, sha -> bytes, and `total` of them
-- KEYS[3...] blob:SHA: string with TTL
-- ARGV    get TTL_MS SHA                  -> the bytes, or nil
--         have TTL_MS SHA...              -> {1 or 0, ...}; those that are there count as used
--         put TTL_MS SHA BYTES CAP PREFIX -> nil; trims the longest unused until the total is within CAP
--         drop TTL_MS SHA                 -> nil
local index, sizes = KEYS[1], KEYS[2]
local action, ttl = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))

local function forget(sha)
  local size = redis.call('HGET', sizes, sha)
  if size then
    redis.call('HINCRBY', sizes, 'total', -size)
    redis.call('HDEL', sizes, sha)
  end
  redis.call('ZREM', index, sha)
end

local function touch(key, sha)
  if redis.call('PEXPIRE', key, ttl) == 1 then
    redis.call('ZADD', index, now, sha)
    return 1
  end
  forget(sha)
  return 0
end

if action == 'get' then
  return touch(KEYS[3], ARGV[3]) == 1 and redis.call('GET', KEYS[3]) or nil
end

if action == 'have' then
  local there = {}
  for i = 3, #KEYS do
    there[i - 2] = touch(KEYS[i], ARGV[i])
  end
  return there
end

if action == 'drop' then
  redis.call('DEL', KEYS[3])
  forget(ARGV[3])
  return nil
end

local sha, bytes, cap = ARGV[3], ARGV[4], tonumber(ARGV[5])
redis.call('SET', KEYS[3], bytes, 'PX', ttl)
forget(sha)
redis.call('HSET', sizes, sha, #bytes)
redis.call('ZADD', index, now, sha)
local total = redis.call('HINCRBY', sizes, 'total', #bytes)
while total > cap do
  local oldest = redis.call('ZRANGE', index, 0, 0)[1]
  if oldest == sha then  -- the sizes remember more than the index: begin anew
    redis.call('DEL', sizes)
    redis.call('HSET', sizes, sha, #bytes, 'total', #bytes)
    break
  end
  redis.call('DEL', ARGV[6] .. oldest)
  forget(oldest)
  total = tonumber(redis.call('HGET', sizes, 'total'))
end
return nil
