"""Closes every descriptor in its second iteration, including those of the counters, and keeps its processor busy."""
import os
import time

count = 0


def run_iter(_):
    global count
    count += 1
    if count == 2:
        os.closerange(3, 4096)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
