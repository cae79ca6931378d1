"""Goes deeper than the limit on the stack allows: the nesting of map is on the stack of the processor, not of Python."""
import sys

sys.setrecursionlimit(1 << 30)


def deeper(_):
    return list(map(deeper, [0]))


def run_iter(_):
    deeper(0)
