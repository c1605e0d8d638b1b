-- Posts BODY, which is JSON, to PATH_ASKED; as an application where APP_ID and APP_SECRET are set.
local text
require("measure")(function()
  text = text or wrk.format("POST", os.getenv("PATH_ASKED"), {
    ["Content-Type"] = "application/json",
    ["App-Id"] = os.getenv("APP_ID"),
    ["App-Secret"] = os.getenv("APP_SECRET"),
  }, os.getenv("BODY"))
  return text
end)
