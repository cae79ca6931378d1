"""Runs two iterations, then never ends, and ignores every signal that can be ignored."""
import signal

count = 0


def run_iter(_):
    global count
    count += 1
    if count == 3:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass
