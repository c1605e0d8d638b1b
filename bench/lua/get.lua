-- Gets the paths of PATH_ASKED in turns; as an application where APP_ID and APP_SECRET are set.
local texts, count = {}, 0
local headers = {["App-Id"] = os.getenv("APP_ID"), ["App-Secret"] = os.getenv("APP_SECRET")}
require("measure")(function()
  if count == 0 then
    for path in os.getenv("PATH_ASKED"):gmatch("%S+") do
      table.insert(texts, wrk.format("GET", path, headers))
    end
  end
  count = count + 1
  return texts[count % #texts + 1]
end)
