"""Leaves a process behind that keeps replacing itself with its own child, so that its PID is outdated when it is read."""
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
