<?php
/*
 * binary_trees - build many perfect binary trees, count their nodes, and discard
 * them, while a large one stays alive.
 *
 * parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
 * checksum   the total number of nodes of all trees
 *
 * Based on the description in the Computer Language Benchmarks Game. For PHP 7.4 and
 * later.
 */

const LEAST = 4;
const MOST = 24;

final class Node
{
    public ?Node $left;
    public ?Node $right;

    public function __construct(?Node $left, ?Node $right)
    {
        $this->left = $left;
        $this->right = $right;
    }
}

function make(int $depth): Node
{
    if ($depth === 0) {
        return new Node(null, null);
    }
    return new Node(make($depth - 1), make($depth - 1));
}

function nodes(Node $node): int
{
    if ($node->left === null) {
        return 1;
    }
    return 1 + nodes($node->left) + nodes($node->right);
}

function checksum($n)
{
    if ($n > MOST) {
        printf("binary_trees: parameter %d is above %d\n", $n, MOST);
        exit(1);
    }
    $most = max($n, LEAST + 2);
    $sum = nodes(make($most + 1));
    $large = make($most);
    for ($depth = LEAST; $depth <= $most; $depth += 2) {
        for ($i = 1 << ($most - $depth + LEAST); $i > 0; $i--) {
            $sum += nodes(make($depth));
        }
    }
    return $sum + nodes($large);
}

/* Returns the expected checksum for n. Known ones are in the table; README.md lists
 * their origin. Checksums of other parameters are those of their first iteration. */
function expected($n, $got)
{
    static $known = [
        10 => 135854,
        12 => 674478,
        14 => 3222190,
    ];
    return $known[$n] ??= $got;
}

function run_iter($n)
{
    $got = checksum($n);
    $want = expected($n, $got);
    if ($got != $want) {
        printf("binary_trees: parameter %d: checksum %.17g, expected %.17g\n", $n, $got, $want);
        exit(1);
    }
}
