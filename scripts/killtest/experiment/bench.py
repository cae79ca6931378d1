"""The benchmark of the kill test in Python: each iteration appends a line to its own log and syncs it."""

import os
import time

iteration = 0


def run_iter(n):
    global iteration
    log = os.open(os.environ["KILLTEST_LOG"], os.O_WRONLY | os.O_APPEND)
    stamp = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    for _ in range(n // 20):
        pass
    os.write(log, b"%d %d %d\n" % (os.getpid(), iteration, stamp))
    os.fsync(log)
    os.close(log)
    iteration += 1
