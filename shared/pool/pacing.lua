-- How many calls one key may have open at a time: AIMD, shared by all workers. Safe to repeat.
-- KEYS[1] pacing: hash, times in microseconds
--   limit     calls at a time; whole ones count, fractions are growth under way
--   epoch     grows with each cut; calls that began before the last cut neither cut nor raise again
--   paused    until when no call begins
--   arrivals  numbers those who wait
-- KEYS[2] slots: zset, ticket -> until when it holds its slot unless renewed
-- KEYS[3] queue: zset, ticket -> number of arrival
-- KEYS[4] asked: zset, ticket -> until when it keeps its place unless it asks again
-- ARGV    clock, action, most (the highest limit), then by action:
--   ask TICKET LEASE    -> {1, epoch}: it has a slot, or {0, us, pause}: ask again in so many; nothing begins
--                          for `pause` us
--   renew LEASE TICKET… -> nil
--   done TICKET EPOCH VERDICT PAUSE -> {limit before, limit after}, whole; VERDICT: served, overloaded, or
--                          unused; PAUSE (us) follows an overload
--   leave TICKET        -> nil; it waits no more
--   look                -> {limit, slots in use, waiting, us until a pause ends}
-- include ledger/clock
local START = 8
local PLACE = 5000000   -- who has not asked for so long has left the queue
local TURN = 40000      -- ask again after so long for each place in the queue, at most ...
local LATEST = 1000000

local STATE, SLOTS, QUEUE, ASKED = unpack(KEYS)
local action, most = ARGV[2], tonumber(ARGV[3])
local held = redis.call('HMGET', STATE, 'limit', 'epoch', 'paused')
local limit = math.min(tonumber(held[1] or START), most)
local epoch = tonumber(held[2] or 0)
local paused = tonumber(held[3] or 0)

redis.call('ZREMRANGEBYSCORE', SLOTS, '-inf', micros(NOW))
for _, ticket in ipairs(redis.call('ZRANGEBYSCORE', ASKED, '-inf', micros(NOW))) do
  redis.call('ZREM', QUEUE, ticket)
  redis.call('ZREM', ASKED, ticket)
end

local function leave(ticket)
  redis.call('ZREM', QUEUE, ticket)
  redis.call('ZREM', ASKED, ticket)
end

if action == 'ask' then
  local ticket, lease = ARGV[4], tonumber(ARGV[5])
  if redis.call('ZSCORE', SLOTS, ticket) then
    return { 1, epoch }
  end
  if not redis.call('ZSCORE', QUEUE, ticket) then
    redis.call('ZADD', QUEUE, redis.call('HINCRBY', STATE, 'arrivals', 1), ticket)
  end
  redis.call('ZADD', ASKED, micros(NOW + PLACE), ticket)
  local before = redis.call('ZRANK', QUEUE, ticket)
  local free = math.floor(limit) - redis.call('ZCARD', SLOTS)
  if paused <= NOW and before < free then
    leave(ticket)
    redis.call('ZADD', SLOTS, micros(NOW + lease), ticket)
    return { 1, epoch }
  end
  local turn = TURN * math.max(1, before - math.max(free, 0) + 1)
  local pause = math.max(paused - NOW, 0)
  return { 0, math.min(LATEST, pause + turn), pause }
end

if action == 'renew' then
  for at = 5, #ARGV do
    redis.call('ZADD', SLOTS, 'XX', micros(NOW + tonumber(ARGV[4])), ARGV[at])
  end
  return nil
end

if action == 'done' then
  local ticket, began, verdict, pause = ARGV[4], tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7])
  local saturated = redis.call('ZCARD', SLOTS) >= math.floor(limit) or redis.call('ZCARD', QUEUE) > 0
  local before = limit
  if redis.call('ZREM', SLOTS, ticket) == 1 or verdict == 'overloaded' then
    if verdict == 'served' and saturated and began == epoch then
      limit = math.min(most, limit + 1 / limit)
    elseif verdict == 'overloaded' then
      paused = math.max(paused, NOW + pause)
      if began == epoch then
        limit = math.max(1, math.floor(limit / 2))
        epoch = epoch + 1
      end
    end
    redis.call('HSET', STATE, 'limit', string.format('%.6f', limit), 'epoch', epoch, 'paused', micros(paused))
  end
  return { math.floor(before), math.floor(limit) }
end

if action == 'leave' then
  leave(ARGV[4])
  return nil
end

return { math.floor(limit), redis.call('ZCARD', SLOTS), redis.call('ZCARD', QUEUE), math.max(paused - NOW, 0) }
