-- Add a chunk of lines to a task's transcript, up to a size.
-- KEYS: run, its transcripts. ARGV: task id, a token of this chunk, chunk, entries in it, most bytes in all.
-- A repeat (same token) adds nothing; neither does a writer whose run is not in the ledger any more.
local id, lines = ARGV[1], 'lines:' .. ARGV[1]
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HGET', KEYS[2], 'last:' .. id) == ARGV[2] then
  return
end
redis.call('HSET', KEYS[2], 'last:' .. id, ARGV[2])
if redis.call('HSTRLEN', KEYS[2], lines) + #ARGV[3] > tonumber(ARGV[5]) then
  redis.call('HINCRBY', KEYS[2], 'dropped:' .. id, ARGV[4])
else
  redis.call('HSET', KEYS[2], lines, (redis.call('HGET', KEYS[2], lines) or '') .. ARGV[3] .. '\n')
end
