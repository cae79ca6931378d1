"""fasta - write DNA sequences as lines of text: one by repeating a given piece,
two by choosing letters with a weighted random number.

parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
           the line's character codes, modulo 2 to the 32

Based on the description in the Computer Language Benchmarks Game. Nothing is
printed, and each iteration starts from the same random seed. For Python 2.7
and 3.
"""

import sys
from bisect import bisect

try:
    range = xrange
except NameError:
    pass

LINE = 60
MOST = 10000000

ALU = (
    "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG"
    "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA"
    "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT"
    "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA"
    "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG"
    "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC"
    "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA")

IUB = [("a", 0.27), ("c", 0.12), ("g", 0.12), ("t", 0.27)] + [(letter, 0.02) for letter in "BDHKMNRSVWY"]

HOMO_SAPIENS = [("a", 0.3029549426680), ("c", 0.1979883004921), ("g", 0.1975473066391), ("t", 0.3015094502008)]


class Writer(object):
    """The state of one iteration."""

    def __init__(self):
        self.sum = 0
        self.seed = 42

    def write(self, line):
        """Replaces printing."""
        self.sum = (self.sum * 31 + sum(bytearray(line.encode("ascii")))) % 4294967296


def lengths(letters):
    """The lengths of the lines that letters fill."""
    while letters > 0:
        yield min(letters, LINE)
        letters -= LINE


def repeat(writer, piece, letters):
    endless = piece + piece[:LINE]
    at = 0
    for length in lengths(letters):
        writer.write(endless[at:at + length])
        at = (at + length) % len(piece)


def random_letters(writer, shares, letters):
    """Each letter is the first whose cumulative share exceeds a random number.

    The random numbers are those of a linear congruential generator of small
    numbers, the same everywhere.
    """
    below = []
    total = 0.0
    for _, share in shares:
        total += share
        below.append(total)
    below.pop()  # the last letter takes the rest
    names = [letter for letter, _ in shares]
    seed = writer.seed
    for length in lengths(letters):
        line = []
        for _ in range(length):
            seed = (seed * 3877 + 29573) % 139968
            line.append(names[bisect(below, seed / 139968.0)])
        writer.write("".join(line))
    writer.seed = seed


def checksum(n):
    if not 0 <= n <= MOST:
        print("fasta: parameter %d is not within 0 to %d" % (n, MOST))
        sys.exit(1)
    writer = Writer()
    writer.write(">ONE Homo sapiens alu")
    repeat(writer, ALU, 2 * n)
    writer.write(">TWO IUB ambiguity codes")
    random_letters(writer, IUB, 3 * n)
    writer.write(">THREE Homo sapiens frequency")
    random_letters(writer, HOMO_SAPIENS, 5 * n)
    return writer.sum


# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
    1000: 3225012143,
    30000: 4059268609,
    100000: 3438851865,
}


def run_iter(n):
    got = checksum(n)
    want = EXPECTED.setdefault(n, got)
    if got != want:
        print("fasta: parameter %d: checksum %.17g, expected %.17g" % (n, got, want))
        sys.exit(1)
