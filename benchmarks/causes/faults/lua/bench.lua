-- Page faults in known iterations; ../../README.md explains which.
local ffi = require("ffi")

ffi.cdef([[
  void *calloc(size_t count, size_t bytes);
  void *memset(void *memory, int value, size_t bytes);
  void free(void *memory);
]])

local FRESH = 8 * 2 ^ 20 -- bytes

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

-- touch writes to each page of new memory, which malloc maps and unmaps.
local function touch()
  local memory = ffi.C.calloc(1, FRESH)
  ffi.C.memset(memory, 1, FRESH)
  ffi.C.free(memory)
end

function run_iter(n)
  if iterations % 50 == n % 50 then
    touch()
  end
  iterations = iterations + 1
  work()
end
