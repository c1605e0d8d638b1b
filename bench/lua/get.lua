-- Gets the paths PATH_ASKED in turns; as an application where APP_ID and APP_SECRET are set.
local headers = {["App-Id"] = os.getenv("APP_ID"), ["App-Secret"] = os.getenv("APP_SECRET")}
local paths, texts, count = {}, {}, 0
for path in os.getenv("PATH_ASKED"):gmatch("%S+") do table.insert(paths, path) end
require("measure")(function()
  local at = count % #paths + 1
  count = count + 1
  texts[at] = texts[at] or wrk.format("GET", paths[at], headers)
  return texts[at]
end)
