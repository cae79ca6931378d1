"""Ends at once, and continues in a child."""
import os

forked = False


def run_iter(_):
    global forked
    if not forked:
        forked = True
        if os.fork():
            os._exit(0)
