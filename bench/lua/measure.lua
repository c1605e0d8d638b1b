-- Sends what `make` returns, in closed loop, or where RATE is set at intended times; writes JSON.
-- Where NUMBER is set, it ends wrk when it has so many answers.
--
-- At a constant rate a thread has one connection, so it may sleep until the next intended time.
-- A request that is sent late because the one before was answered late counts from its intended
-- time, and one that has no answer in the end counts with the time it has waited.
local ffi = require("ffi")
ffi.cdef [[
  struct moment { long seconds; long nanoseconds; };
  int clock_gettime(int clock, struct moment *now);
  int clock_nanosleep(int clock, int flags, const struct moment *until, struct moment *rest);
  int getpid(void);
  int kill(int process, int signal);
]]
local MONOTONIC, PROCESS, ABSOLUTE, INTERRUPT = 1, 2, 1, 2
local LEAD = 0.3 -- seconds that the threads have to connect before the first intended time
local EDGE = 1e-6
local moment = ffi.new("struct moment")

local function clock(which)
  ffi.C.clock_gettime(which, moment)
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

local function sleep_until(time)
  moment.seconds = math.floor(time)
  moment.nanoseconds = (time - math.floor(time)) * 1e9
  ffi.C.clock_nanosleep(MONOTONIC, ABSOLUTE, moment, nil)
end

local rate, wanted = tonumber(os.getenv("RATE")), tonumber(os.getenv("NUMBER"))
local lasting, clients = tonumber(os.getenv("SECONDS")), tonumber(os.getenv("CLIENTS"))
local servers, threads = {}, {} -- of the main state
for host, port in (os.getenv("SERVERS") or ""):gmatch("//([^:%s]+):(%d+)") do
  table.insert(servers, {host, port})
end

function setup(thread)
  local server = servers[#threads % math.max(1, #servers) + 1]
  if server then thread.addr = wrk.lookup(unpack(server))[1] end
  table.insert(threads, thread)
  thread:set("number", #threads - 1)
  begin = begin or clock(MONOTONIC) + LEAD
  thread:set("begin", begin)
end

local function paced(make)
  waits = {} -- seconds from intended time to answer
  local verified
  function request()
    if number == 0 and not verified then -- wrk asks the first thread once before it begins
      verified = true
      return make()
    end
    due = due and due + clients / rate or begin + number / rate
    if due > begin + lasting - EDGE then
      wrk.thread:stop()
      return ""
    end
    sleep_until(due)
    return make()
  end
  function response()
    answered, following = clock(MONOTONIC), due + clients / rate
    table.insert(waits, answered - due)
  end
end

local function main_thread_sleeps()
  local stat = assert(io.open("/proc/self/stat"))
  local state = stat:read("*a"):match("%) (%u)")
  stat:close()
  return state == "S"
end

local function counted(make)
  local asked, answered = -1, 0 -- wrk asks once before it begins
  function request()
    asked = asked + 1
    return asked > wanted and "" or make()
  end
  function response()
    answered = answered + 1
    if answered < wanted then return end
    -- The signal interrupts the main thread's sleep; before it, wrk would sleep on.
    while not main_thread_sleeps() do sleep_until(clock(MONOTONIC) + 0.001) end
    ffi.C.kill(ffi.C.getpid(), INTERRUPT)
  end
end

local function all_waits()
  local now, all, last = clock(MONOTONIC), {}, begin + lasting
  for _, thread in ipairs(threads) do
    for _, wait in ipairs(thread:get("waits")) do table.insert(all, wait) end
    last = math.max(last, thread:get("answered") or 0)
  end
  local number = #all
  for at, thread in ipairs(threads) do
    local due = thread:get("following") or begin + (at - 1) / rate
    for missed = due, begin + lasting - EDGE, clients / rate do table.insert(all, now - missed) end
  end
  table.sort(all)
  return all, number, last - begin
end

local function percentiles_of(sorted)
  return function(percent) return sorted[math.max(1, math.ceil(#sorted * percent / 100))] or 0 end
end

function done(summary, latency)
  local number, seconds, of = summary.requests, summary.duration / 1e6
  if rate then
    local all
    all, number, seconds = all_waits()
    of = percentiles_of(all)
  else
    of = function(percent) return latency:percentile(percent) / 1e6 end
  end
  local failed = summary.errors
  io.write(string.format(
    '\n{"number": %d, "rate": %.6f, "p50": %.6f, "p99": %.6f, "p999": %.6f, '
      .. '"client_seconds": %.6f, "refused": %d, "broken": %d}\n',
    number, number / seconds, of(50), of(99), of(99.9), clock(PROCESS), failed.status,
    failed.connect + failed.read + failed.write + failed.timeout))
end

return function(make)
  if rate then paced(make) elseif wanted then counted(make) else request = make end
end
