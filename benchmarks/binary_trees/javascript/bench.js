/*
 * binary_trees - build many perfect binary trees, count their nodes, and discard
 * them, while a large one stays alive.
 *
 * parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
 * checksum   the total number of nodes of all trees
 *
 * Based on the description in the Computer Language Benchmarks Game.
 */
"use strict";

const LEAST = 4, MOST = 24;

class Node {
  constructor(left, right) {
    this.left = left;
    this.right = right;
  }
}

function make(depth) {
  if (depth === 0)
    return new Node(null, null);
  return new Node(make(depth - 1), make(depth - 1));
}

function count(node) {
  if (node.left === null)
    return 1;
  return 1 + count(node.left) + count(node.right);
}

function checksum(n) {
  if (n > MOST) {
    print(`binary_trees: parameter ${n} is above ${MOST}`);
    quit(1);
  }
  const most = Math.max(n, LEAST + 2);
  let nodes = count(make(most + 1));
  const large = make(most);
  for (let depth = LEAST; depth <= most; depth += 2)
    for (let i = 1 << (most - depth + LEAST); i > 0; i--)
      nodes += count(make(depth));
  return nodes + count(large);
}

// Known checksums; README.md lists their origin. Checksums of other parameters are
// those of their first iteration.
const EXPECTED = {
  10: 135854,
  12: 674478,
  14: 3222190,
};

function run_iter(n) {
  const got = checksum(n);
  if (!(n in EXPECTED))
    EXPECTED[n] = got;
  if (got !== EXPECTED[n]) {
    print(`binary_trees: parameter ${n}: checksum ${got}, expected ${EXPECTED[n]}`);
    quit(1);
  }
}
