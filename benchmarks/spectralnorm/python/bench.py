"""spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ...,
truncated to n by n, by the power method with ten rounds.

parameter  n, 1 to 10000
checksum   the norm

Based on the description in the Computer Language Benchmarks Game. Every language
does the same operations in the same order, so the last bit agrees. For Python
2.7 and 3.
"""

import sys
from math import sqrt

try:
    range = xrange
except NameError:
    pass

MOST = 10000


def element(i, j):
    """Row i, column j: one over its index, counted along the diagonals."""
    return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)


def times(vector):
    """A times the vector."""
    n = len(vector)
    out = []
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += element(i, j) * vector[j]
        out.append(total)
    return out


def transposed(vector):
    """A transposed times the vector."""
    n = len(vector)
    out = []
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += element(j, i) * vector[j]
        out.append(total)
    return out


def checksum(n):
    if not 1 <= n <= MOST:
        print("spectralnorm: parameter %d is not within 1 to %d" % (n, MOST))
        sys.exit(1)
    u = [1.0] * n
    for _ in range(10):
        v = transposed(times(u))
        u = transposed(times(v))
    uv = vv = 0.0
    for a, b in zip(u, v):
        uv += a * b
        vv += b * b
    return sqrt(uv / vv)


# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
    100: 1.2742199912349306,
    500: 1.2742241159529055,
}


def run_iter(n):
    got = checksum(n)
    want = EXPECTED.setdefault(n, got)
    if got != want:
        print("spectralnorm: parameter %d: checksum %.17g, expected %.17g" % (n, got, want))
        sys.exit(1)
