# Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
# iteration and timed; its argument is the parameter in the configuration.
def fib(k):
    return k if k < 2 else fib(k - 1) + fib(k - 2)


def run_iter(n):
    result = fib(n)
    if result < n - 1:  # a wrong result is no measurement
        raise ValueError("fib(%d) = %d" % (n, result))
