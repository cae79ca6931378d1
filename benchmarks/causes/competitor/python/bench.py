"""Another process takes the processor in known iterations; ../../README.md explains which."""
import ctypes
import mmap
import os
import sys
import time

# PyPy needs more steps than an interpreter for 1 to 3 ms.
REPEAT = range(1000000 if "__pypy__" in sys.builtin_module_names else 20000)
iterations = 0
ran = mmap.mmap(-1, 4096)  # the competitor increments the first byte
competitor = wake = 0


def work():
    """The usual work of an iteration."""
    x = 1
    for _ in REPEAT:
        x = (x * 69069 + 1) & 0x7fffffff
    return x


def bind():
    """Keep this process, and those that it makes, on the processor that it is on."""
    libc = ctypes.CDLL(None)
    one = (1 << libc.sched_getcpu()).to_bytes(128, sys.byteorder)
    libc.sched_setaffinity(0, ctypes.c_size_t(len(one)), one)


def compete(pipe):
    """Need 3 ms of processor time for each byte, until the pipe is closed."""
    with open("/proc/self/comm", "w") as comm:
        comm.write("competitor")
    while os.read(pipe, 1):
        end = time.process_time() + 0.003
        while time.process_time() < end:
            pass
        ran[0] += 1
    os._exit(0)


def start():
    global competitor, wake
    bind()
    pipe, wake = os.pipe()
    competitor = os.fork()
    if competitor == 0:
        os.close(wake)
        compete(pipe)
    os.close(pipe)


def give_way():
    """Wake the competitor, and do not give up the processor before it has had it."""
    before = ran[0]
    os.write(wake, b"1")
    while ran[0] == before:
        pass


def run_iter(n):
    global iterations
    if iterations == 0:
        start()
    if iterations % 50 == n % 50:
        give_way()
    iterations += 1
    if iterations == 300:
        os.close(wake)
        os.waitpid(competitor, 0)
    work()
