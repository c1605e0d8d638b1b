-- Runs the script NOTED at a constant rate, and writes to the file ANSWERS when each answer came:
-- the time of the monotonic clock, and what ID matches in the answer's Location or body.
require(os.getenv("NOTED"))
local file = assert(io.open(os.getenv("ANSWERS"), "a"))
file:setvbuf("line") -- the threads write to one file
local pattern, measured = os.getenv("ID"), response
function response(status, headers, body)
  measured()
  local place = headers["location"] or headers["Location"] or body
  file:write(string.format("%.6f %s\n", answered, assert(place:match(pattern), place)))
end
