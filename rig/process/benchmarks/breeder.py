"""Leaves a process that is always replaced by its own child, so that whoever reads its number comes too late."""
import os
import signal
import time

started = False


def run_iter(_):
    global started
    if started:
        return
    started = True
    if os.fork():
        return
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        if os.fork():
            os._exit(0)
        time.sleep(0.003)
