-- NOW: the present in microseconds. ARGV[1] replaces Redis's clock in tests and is empty everywhere else.
local function micros(number)  -- Lua's own conversion drops digits
  return string.format('%.0f', number)
end

local function read_clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local NOW = ARGV[1] ~= '' and tonumber(ARGV[1]) or read_clock()
