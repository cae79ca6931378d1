"""A function that becomes hot in a known iteration; ../../README.md explains which."""
import sys

# PyPy needs more steps than an interpreter for 1 to 3 ms.
REPEAT = range(1000000 if "__pypy__" in sys.builtin_module_names else 20000)
iterations = 0


def work():
    """The usual work of an iteration."""
    x = 1
    for _ in REPEAT:
        x = (x * 69069 + 1) & 0x7fffffff
    return x


def fresh():
    """Half as much work again."""
    x = 1
    for _ in REPEAT:
        x = (x * 69069 + 1) & 0x7fffffff
        x ^= x >> 7
    return x


def run_iter(n):
    global iterations
    if iterations < 100 + 37 * n % 100:
        work()
    else:
        fresh()
    iterations += 1
