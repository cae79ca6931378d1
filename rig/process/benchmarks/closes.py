"""Closes every descriptor, including those that it did not open."""
import os


def run_iter(_):
    os.closerange(0, 4096)
