"""Runs two iterations, then writes forever."""
import os

count = 0
block = b"y\n" * 32768


def run_iter(_):
    global count
    count += 1
    while count == 3:
        os.write(1, block)
