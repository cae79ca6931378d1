"""Page faults in known iterations; ../../README.md explains which."""
import mmap
import sys

FRESH = 8 << 20  # bytes
ONES = b"1" * (FRESH // 4096)

# PyPy needs more steps than an interpreter for 1 to 3 ms.
REPEAT = range(1000000 if "__pypy__" in sys.builtin_module_names else 20000)
iterations = 0


def work():
    """The usual work of an iteration."""
    x = 1
    for _ in REPEAT:
        x = (x * 69069 + 1) & 0x7fffffff
    return x


def touch():
    """Write to each page of new memory."""
    memory = mmap.mmap(-1, FRESH)
    memory[::4096] = ONES
    memory.close()


def run_iter(n):
    global iterations
    if iterations % 50 == n % 50:
        touch()
    iterations += 1
    work()
