-- Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
-- iteration and timed; its argument is the parameter in the configuration.
local function fib(k)
  if k < 2 then return k end
  return fib(k - 1) + fib(k - 2)
end

function run_iter(n)
  local result = fib(n)
  if result < n - 1 then error("fib(" .. n .. ") = " .. result) end -- a wrong result is no measurement
end
