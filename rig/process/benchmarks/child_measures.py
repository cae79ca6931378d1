"""Continues in a child, and ends in the same way as the child."""
import os

forked = False


def run_iter(_):
    global forked
    if forked:
        return
    forked = True
    child = os.fork()
    if child:
        os._exit(os.waitpid(child, 0)[1] >> 8)
