"""Overwrites the whole shared buffer before its third iteration."""
import ctypes

count = 0


def buffers():
    with open("/proc/self/maps") as maps:
        for line in maps:
            if "memfd:" in line and "rw-s" in line:
                yield [int(end, 16) for end in line.split()[0].split("-")]


def run_iter(_):
    global count
    count += 1
    if count == 3:
        for begin, end in buffers():
            ctypes.memset(begin, 0xa5, end - begin)
