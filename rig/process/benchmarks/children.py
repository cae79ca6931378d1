"""Uses children inside an iteration as any program may: that is nothing bad."""
import os


def run_iter(_):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
