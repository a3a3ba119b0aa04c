-- Write down a request before anything is sent to the platform.
-- KEYS: openings. ARGV: clock, request id, request JSON. Repeats change nothing.
-- include ledger/clock
redis.call('HSETNX', KEYS[1], ARGV[2], micros(NOW) .. ' ' .. ARGV[3])
