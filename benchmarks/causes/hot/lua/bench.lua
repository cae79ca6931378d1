-- A function that becomes hot in a known iteration; ../../README.md explains which.

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

-- fresh is half as much work again.
local function fresh()
  local x = 1
  for _ = 1, STEPS * 3 / 2 do
    x = (x * 69069 + 1) % 65521
  end
  return x
end

function run_iter(n)
  if iterations < 100 + 37 * n % 100 then
    work()
  else
    fresh()
  end
  iterations = iterations + 1
end
