-- A new type in a known iteration; ../../README.md explains which.

local STEPS = 300000
local iterations = 0

local numbers, mixed = {}, {}
for i = 0, 63 do
  numbers[i] = i
  mixed[i] = i % 2 == 0 and i or tostring(i) -- every second one is a string
end

-- work is the usual work of an iteration, on numbers until strings come.
local function work(values)
  local total = 0
  for i = 1, STEPS do
    total = (total + values[i % 64]) % 65521
  end
  return total
end

function run_iter(n)
  work(iterations < 100 + 37 * n % 100 and numbers or mixed)
  iterations = iterations + 1
end
