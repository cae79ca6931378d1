"""Sleep in known iterations; ../../README.md explains which."""
import sys
import time

# PyPy needs more steps than an interpreter for 1 to 3 ms.
REPEAT = range(1000000 if "__pypy__" in sys.builtin_module_names else 20000)
iterations = 0


def work():
    """The usual work of an iteration."""
    x = 1
    for _ in REPEAT:
        x = (x * 69069 + 1) & 0x7fffffff
    return x


def run_iter(n):
    global iterations
    if iterations % 50 == n % 50:
        time.sleep(0.003)
    iterations += 1
    work()
