-- One account's token bucket: GCRA as a reservation. Safe to repeat (a booking made twice wastes one request).
-- KEYS[1] bucket: hash, times in microseconds
--   tat         when the bucket will be full again if nothing more is booked
--   epoch       names the present bookings; a pause, or a new bucket, gives another and thereby voids them
--   paused      until when the platform wants silence
--   seen        the last call's time, to notice a clock that was set back
--   last0 last1 lanes 0 and 1: when the last booking goes; later than now where callers wait for their turn
--   ask1 ask2   lanes 1 and 2: when the next caller may ask again; later than now where callers queue
--   share1 ...2 lanes 1 and 2: from when on the lane may take its tenth
--   granted     bookings in all, less the void ones
-- KEYS[2] born: string, since when nothing was lost from this data set; 0: it is a new one
-- KEYS[3] run: hash; book only, may be missing
-- ARGV    clock, action, interval between two requests (us), burst, then by action:
--   book LANE MAX_WAIT AGAIN COUNT  -> {verdict, wait, epoch}: 0 go in `wait`, 1 ask again in `wait`,
--                                      2 nothing within MAX_WAIT (the next in `wait`); 1 and 2 consume nothing
--   check EPOCH  -> 1 if bookings of that epoch hold
--   pause SPAN CHANNEL -> 1 if this call began the episode; tells the channel of any change
--   look         -> {interval, burst, available, paused for, granted}
-- include ledger/clock
local AHEAD = 500000  -- how far a lower lane books ahead
local SHARE = 10      -- a lower lane may always have one request in so many
local LONGER = 250000 -- by so much must a 429 exceed the pause it meets to lengthen it

local action = ARGV[2]
local TIMES = { 'tat', 'paused', 'last0', 'last1', 'ask1', 'ask2', 'share1', 'share2' }
local bucket = {}
for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(TIMES))) do
  bucket[TIMES[i]] = tonumber(value or 0)
end
local epoch, seen = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'seen'))
local interval, burst = tonumber(ARGV[3]), tonumber(ARGV[4])

if not epoch then
  -- No bucket. Since `born` it cannot have been used, so it has been filling up from empty since then.
  redis.call('SET', KEYS[2], micros(NOW), 'NX')
  bucket.tat = math.min(NOW, tonumber(redis.call('GET', KEYS[2]))) + burst * interval
  epoch = micros(NOW)
elseif NOW < tonumber(seen) then
  -- The clock was set back: all times go with it, else everybody would wait for that long.
  for name, at in pairs(bucket) do
    bucket[name] = at - (tonumber(seen) - NOW)
  end
end

local function keep()
  local fields = { 'epoch', epoch, 'seen', micros(NOW) }
  for name, at in pairs(bucket) do
    fields[#fields + 1] = name
    fields[#fields + 1] = micros(at)
  end
  redis.call('HSET', KEYS[1], unpack(fields))
end

-- True where a lower lane may take only what is free at once, beside its tenth: callers of a higher lane wait,
-- or callers of its own queue and this one is new. (Who left the queue leaves something free.)
local function stands_back(lane, again)
  return bucket.last0 > NOW or (lane == 2 and bucket.last1 > NOW)
    or (bucket['ask' .. lane] > NOW and not again)
end

local function book(lane, max_wait, again)
  local ask, share, last = 'ask' .. lane, 'share' .. lane, 'last' .. lane
  local go = math.max(NOW, bucket.paused, math.max(bucket.tat, NOW) + interval - burst * interval)
  if lane > 0 and go - NOW > (stands_back(lane, again) and 0 or AHEAD) and bucket[share] > NOW then
    local soonest = math.min(math.max(go - AHEAD, NOW), bucket[share])
    local at = math.max(bucket[ask], soonest, NOW + interval)
    if at - NOW > max_wait then
      return { 2, at - NOW, epoch }
    end
    bucket[ask] = at + interval
    return { 1, at - NOW, epoch }
  end
  if go - NOW > max_wait then
    return { 2, go - NOW, epoch }
  end
  bucket.tat = math.max(bucket.tat, go) + interval
  if lane < 2 then
    bucket[last] = go
  end
  if lane > 0 then
    local span = SHARE * interval
    bucket[share] = math.min(math.max(bucket[share], NOW - span), NOW) + span
  end
  return { 0, go - NOW, epoch }
end

if action == 'book' then
  local answer = book(tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1')
  keep()
  if answer[1] == 0 and ARGV[8] == '1' then
    redis.call('HINCRBY', KEYS[1], 'granted', 1)
    if KEYS[3] and redis.call('EXISTS', KEYS[3]) == 1 then
      redis.call('HINCRBY', KEYS[3], 'requests', 1)
    end
  end
  return answer
end

if action == 'check' then
  return (epoch == ARGV[5] and bucket.paused <= NOW) and 1 or 0
end

if action == 'pause' then
  local till = NOW + tonumber(ARGV[5])
  local begins = bucket.paused <= NOW
  if begins or till > bucket.paused + LONGER then
    epoch = micros(NOW)
    for name in pairs(bucket) do
      bucket[name] = 0
    end
    bucket.paused = till
    bucket.tat = till + (burst - 1) * interval  -- one request at the end of the pause, then at the plain rate
    keep()
    redis.call('PUBLISH', ARGV[6], micros(till))
  end
  return begins and 1 or 0
end

local available = math.floor((burst * interval - math.max(bucket.tat - NOW, 0)) / interval)
if bucket.paused > NOW then
  available = 0
end
return { interval, burst, math.max(available, 0), math.max(bucket.paused - NOW, 0),
  tonumber(redis.call('HGET', KEYS[1], 'granted') or 0) }
