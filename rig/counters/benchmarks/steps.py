"""Waits before the end of each iteration, and once before the first, until the test creates /tmp/go-N for step N."""
import os
import time

step = 0


def wait():
    global step
    with open("/tmp/at-%d" % step, "w"):
        pass
    limit = time.monotonic() + 120
    while not os.path.exists("/tmp/go-%d" % step):
        if time.monotonic() > limit:
            raise RuntimeError("no signal for step %d" % step)
    step += 1


wait()


def run_iter(_):
    wait()
