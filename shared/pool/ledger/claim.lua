-- One run belongs to one request. KEYS: claims. ARGV: clock, REF, request id.
-- Returns 1 where this request owns the run, now or already.
redis.call('HSETNX', KEYS[1], ARGV[2], ARGV[3])
return redis.call('HGET', KEYS[1], ARGV[2]) == ARGV[3] and 1 or 0
