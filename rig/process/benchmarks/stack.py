"""Exceeds the stack limit: nested calls of map use the native stack, not Python's."""
import sys

sys.setrecursionlimit(1 << 30)


def deeper(_):
    return list(map(deeper, [0]))


def run_iter(_):
    deeper(0)
