"""Replaces every counter descriptor with one of its own file in its second iteration."""
import os
import time

count = 0


def run_iter(_):
    global count
    count += 1
    if count == 2:
        own = os.open("/tmp/own", os.O_RDWR | os.O_CREAT)
        os.truncate("/tmp/own", 1 << 20)
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink("/proc/self/fd/" + name).startswith("/dev/cpu/"):
                    os.dup2(own, int(name))
            except OSError:
                pass
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
