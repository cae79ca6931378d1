"""Fills the disk of its home and reports the number of bytes written."""
import errno
import os


def run_iter(_):
    written = 0
    with open(os.path.join(os.environ["HOME"], "big"), "ab", buffering=0) as f:
        for size in 1 << 20, 1 << 12, 1:
            try:
                while True:
                    written += f.write(b"x" * size)
            except OSError as e:
                if e.errno != errno.ENOSPC:
                    raise
    print(written, flush=True)
