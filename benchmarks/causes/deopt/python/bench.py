"""A new type in a known iteration; ../../README.md explains which."""
import sys

# PyPy needs more steps than an interpreter for 1 to 3 ms.
STEPS = 1000000 if "__pypy__" in sys.builtin_module_names else 10000
iterations = 0


class First(object):
    def __init__(self, value):
        self.value = value

    def get(self):
        return self.value


class Second(First):
    def get(self):
        return self.value ^ 1


SAME = [First(i) for i in range(64)]
MIXED = [Second(i) if i % 2 else First(i) for i in range(64)]


def work(objects):
    """The usual work of an iteration, with one class until another comes."""
    total = 0
    for i in range(STEPS):
        total = (total + objects[i & 63].get()) & 0xffff
    return total


def run_iter(n):
    global iterations
    work(SAME if iterations < 100 + 37 * n % 100 else MIXED)
    iterations += 1
