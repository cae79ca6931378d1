"""Writes 8 MB to each stream, some of it not text."""
import os

block = (b"line %d\xff\n" * 10 + b"\0" * 50) * 100


def run_iter(_):
    for fd in 1, 2:
        left = 8 << 20
        while left > 0:
            left -= os.write(fd, block[:left])
