-- The run's time is over now: it is drained and sealed with what it has. ARGV: clock, REF.
-- Returns its kind, nil if it is not in the ledger. A sealed run stays as it is.
-- include ledger/run
if active() then
  local deadline = tonumber(redis.call('HGET', RUN, 'deadline'))
  redis.call('HSET', RUN, 'deadline', micros(math.min(NOW, deadline)))
  start_finishing('closed by hand')
end
return redis.call('HGET', RUN, 'kind')
