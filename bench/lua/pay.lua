-- Posts the forms of the pay pages PATHS in turns, with FIELDS and tokens that nobody has posted.
-- So many pages that an environment cannot hold them are in the file PATHS_FILE.
local paths = {}
local listed = os.getenv("PATHS") or assert(io.open(os.getenv("PATHS_FILE"))):read("*a")
for path in listed:gmatch("%S+") do table.insert(paths, path) end
local fields = os.getenv("FIELDS") or ""
local form = {["Content-Type"] = "application/x-www-form-urlencoded"}
local random = assert(io.open("/dev/urandom", "rb"))
local seed = random:read(8):gsub(".", function(byte) return string.format("%02x", byte:byte()) end)
random:close()
local count = 0
require("measure")(function()
  count = count + 1
  local body = string.format("token=%s%016x%s", seed, count, fields)
  return wrk.format("POST", paths[count % #paths + 1], form, body)
end)
