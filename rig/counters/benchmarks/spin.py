"""Keeps its processor busy for half a second; reports which ways to the counters are denied, and which one was opened."""
import ctypes
import errno
import json
import os
import sys
import time


def opens(path, flags=os.O_RDONLY):
    try:
        os.close(os.open(path, flags))
        return ""
    except OSError as error:
        return error.strerror


def perf_event_open():
    """Cycles of CPU 0: what the source perf counts."""
    class Attributes(ctypes.Structure):
        _fields_ = [("type", ctypes.c_uint32), ("size", ctypes.c_uint32), ("rest", ctypes.c_uint64 * 13)]
    attributes = Attributes(type=1, size=112)  # PERF_TYPE_SOFTWARE, cpu-clock: which every kernel has
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, ctypes.byref(attributes), -1, 0, -1, 0)
    return "" if fd >= 0 else os.strerror(ctypes.get_errno())


def inherited():
    """What can be read through the descriptors that krund passed: APERF of each."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + name)
            if path.startswith("/dev/cpu/"):
                found[path] = [int.from_bytes(os.pread(int(name), 8, 0xe8), "little") for _ in range(2)]
        except OSError as error:
            if error.errno != errno.ENOENT:
                found[name] = error.strerror
    return found


def write_inherited():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).startswith("/dev/cpu/"):
                os.pwrite(int(name), b"\0" * 8, 0xe8)
                return "written"
        except OSError as error:
            if error.errno != errno.ENOENT:
                return error.strerror
    return "none"


print(json.dumps({
    "uid": os.getuid(), "open": [opens("/dev/cpu/%d/msr" % cpu) for cpu in (0, 1)], "write": opens("/dev/cpu/0/msr", os.O_WRONLY),
    "again": sorted({opens("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd")
                     if os.path.exists("/proc/self/fd/" + fd) and os.readlink("/proc/self/fd/" + fd).startswith("/dev/cpu/")}),
    "port": opens("/dev/port"), "kmsg": opens("/dev/kmsg", os.O_RDONLY), "perf": perf_event_open(),
    "inherited": inherited(), "write_inherited": write_inherited(),
}))
sys.stdout.flush()


def run_iter(_):
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
