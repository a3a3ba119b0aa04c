-- Write down the request for a final run, unless one is under way on its platform: of two starts one wins.
-- KEYS: openings, runs; the third is the beginning of the run hashes' names.
-- ARGV: clock, platform, request id, request JSON. Returns the id of the request that has the final run.
-- include ledger/clock
local openings = redis.call('HGETALL', KEYS[1])
for at = 1, #openings, 2 do
  local request = cjson.decode(string.match(openings[at + 1], ' (.*)'))
  if request.kind == 'final' and request.platform == ARGV[2] then
    return openings[at]
  end
end
for _, ref in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local run = redis.call('HMGET', KEYS[3] .. ref, 'kind', 'status', 'request_id')
  local active = run[2] == 'solving' or run[2] == 'finishing'
  if run[1] == 'final' and active and string.sub(ref, 1, #ARGV[2] + 1) == ARGV[2] .. ':' then
    return run[3]
  end
end
redis.call('HSET', KEYS[1], ARGV[3], micros(NOW) .. ' ' .. ARGV[4])
return ARGV[3]
