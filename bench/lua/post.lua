-- Posts BODY, which is JSON, to PATH_ASKED; as an application where APP_ID and APP_SECRET are set,
-- with the key of an LNbits wallet where API_KEY is.
local text
require("measure")(function()
  text = text or wrk.format("POST", os.getenv("PATH_ASKED"), {
    ["Content-Type"] = "application/json",
    ["App-Id"] = os.getenv("APP_ID"),
    ["App-Secret"] = os.getenv("APP_SECRET"),
    ["X-Api-Key"] = os.getenv("API_KEY"),
  }, os.getenv("BODY"))
  return text
end)
