# Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
# iteration and timed; its argument is the parameter in the configuration.
def fib(k)
  k < 2 ? k : fib(k - 1) + fib(k - 2)
end

def run_iter(n)
  result = fib(n)
  raise "fib(#{n}) = #{result}" if result < n - 1 # a wrong result is no measurement
end
