-- Garbage collections in known iterations; ../../README.md explains which.

live = {} -- global, so that it stays
for i = 1, 200000 do
  live[i] = { i }
end

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
    collectgarbage()
  end
  iterations = iterations + 1
  work()
end
