"""Runs two iterations, then stops itself and a child."""
import os
import signal

count = 0


def run_iter(_):
    global count
    count += 1
    if count == 3:
        os.fork()
        os.kill(os.getpid(), signal.SIGSTOP)
