"""Allocates more memory than the limit allows."""


def run_iter(_):
    bytearray(200 << 20)
