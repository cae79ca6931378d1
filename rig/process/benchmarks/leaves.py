"""Ends in its second iteration, with success."""
import os

count = 0


def run_iter(_):
    global count
    count += 1
    if count == 2:
        os._exit(0)
