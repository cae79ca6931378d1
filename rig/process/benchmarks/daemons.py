"""Leaves three daemons behind that try to escape cleanup, and succeeds."""
import ctypes
import os
import signal


def daemon(name):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    os.closerange(0, 100)
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME
    while True:
        signal.pause()


started = False


def run_iter(_):
    global started
    if not started:
        started = True
        for name in b"sshd", b"(krund) R 1 1", b"\xff\n":
            daemon(name)
