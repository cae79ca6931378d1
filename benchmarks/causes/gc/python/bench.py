"""Garbage collections in known iterations; ../../README.md explains which."""
import gc
import sys

gc.disable()  # none in the other iterations
LIVE = [[i] for i in range(200000)]

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
        gc.collect()
    iterations += 1
    work()
