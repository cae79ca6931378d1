"""binary_trees - build many perfect binary trees, count their nodes, and discard
them, while a large one stays alive.

parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
checksum   the total number of nodes of all trees

Based on the description in the Computer Language Benchmarks Game. For Python 2.7
and 3.
"""

import sys

try:
    range = xrange
except NameError:
    pass

LEAST, MOST = 4, 24


class Node(object):
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


def make(depth):
    if depth == 0:
        return Node(None, None)
    return Node(make(depth - 1), make(depth - 1))


def count(node):
    if node.left is None:
        return 1
    return 1 + count(node.left) + count(node.right)


def checksum(n):
    if n > MOST:
        print("binary_trees: parameter %d is above %d" % (n, MOST))
        sys.exit(1)
    most = max(n, LEAST + 2)
    nodes = count(make(most + 1))
    large = make(most)
    for depth in range(LEAST, most + 1, 2):
        for _ in range(1 << (most - depth + LEAST)):
            nodes += count(make(depth))
    return nodes + count(large)


# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
    10: 135854,
    12: 674478,
    14: 3222190,
}


def run_iter(n):
    got = checksum(n)
    want = EXPECTED.setdefault(n, got)
    if got != want:
        print("binary_trees: parameter %d: checksum %.17g, expected %.17g" % (n, got, want))
        sys.exit(1)
