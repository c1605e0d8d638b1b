-- Gets PATH_ASKED.
local text
require("measure")(function()
  text = text or wrk.format("GET", os.getenv("PATH_ASKED"))
  return text
end)
