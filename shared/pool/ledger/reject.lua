-- opening -> rejected. KEYS: openings, rejections, claims. ARGV: clock, request id, reason.
-- A repeat, or a request whose run is open, finds no opening and changes nothing. Claims are given back.
-- include ledger/clock
local opening = redis.call('HGET', KEYS[1], ARGV[2])
if not opening then
  return
end
local request = string.match(opening, ' (.*)')
redis.call('LPUSH', KEYS[2], cjson.encode({ ARGV[2], request, ARGV[3], micros(NOW) }))
redis.call('LTRIM', KEYS[2], 0, 49)
redis.call('HDEL', KEYS[1], ARGV[2])
local claims = redis.call('HGETALL', KEYS[3])
for at = 1, #claims, 2 do
  if claims[at + 1] == ARGV[2] then
    redis.call('HDEL', KEYS[3], claims[at])
  end
end
