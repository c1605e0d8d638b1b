-- Pays the invoices of the file INVOICES, each once, from the LNbits wallet with the key API_KEY.
local invoices = {}
for invoice in io.lines(os.getenv("INVOICES")) do table.insert(invoices, invoice) end
local head = {["Content-Type"] = "application/json", ["X-Api-Key"] = os.getenv("API_KEY")}
local threads = os.getenv("CLIENTS") or 1 -- at a constant rate each client is a thread
local count = 0
require("measure")(function()
  count = count + 1
  local invoice = assert(invoices[(count - 1) * threads + (number or 0) + 1], "no invoice is left")
  return wrk.format("POST", "/api/v1/payments", head, '{"out": true, "bolt11": "' .. invoice .. '"}')
end)
