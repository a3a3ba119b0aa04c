-- Members of a zset (leases, due, sent) whose time has come. KEYS: the zset. ARGV: clock, age (us).
-- include ledger/clock
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', micros(NOW - tonumber(ARGV[2])))
