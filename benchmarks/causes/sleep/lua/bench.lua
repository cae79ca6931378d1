-- Sleep in known iterations; ../../README.md explains which.
local ffi = require("ffi")

ffi.cdef("int usleep(unsigned int microseconds);")

local STEPS = 300000
local iterations = 0

-- work is the usual work of an iteration.
local function work()
  local x = 1
  for _ = 1, STEPS do
    x = (x * 69069 + 1) % 65521
  end
  return x
end

function run_iter(n)
  if iterations % 50 == n % 50 then
    ffi.C.usleep(3000)
  end
  iterations = iterations + 1
  work()
end
