"""Uses children within an iteration, which every program may do."""
import os


def run_iter(_):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
