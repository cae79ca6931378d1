//go:build cgo

// binary_trees - build many perfect binary trees, count their nodes, and discard them, while a
// large one stays alive.
//
//	parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
//	checksum   the total number of nodes of all trees
//
// Based on the description in the Computer Language Benchmarks Game.
package main

import (
	"fmt"
	"os"

	krun "krund/runners/go"
)

const (
	least = 4
	most  = 24
)

type node struct{ left, right *node }

func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{build(depth - 1), build(depth - 1)}
}

func count(n *node) int {
	if n.left == nil {
		return 1
	}
	return 1 + count(n.left) + count(n.right)
}

func checksum(n int) float64 {
	if n > most {
		fmt.Printf("binary_trees: parameter %d is above %d\n", n, most)
		os.Exit(1)
	}
	deepest := max(n, least+2)
	nodes := count(build(deepest + 1))
	large := build(deepest)
	for depth := least; depth <= deepest; depth += 2 {
		for range 1 << (deepest - depth + least) {
			nodes += count(build(depth))
		}
	}
	return float64(nodes + count(large))
}

// known checksums by parameter; README.md lists their origin. First iterations add others.
var known = map[int]float64{
	10: 135854,
	12: 674478,
	14: 3222190,
}

func runIter(n int) {
	got := checksum(n)
	want, ok := known[n]
	if !ok {
		known[n], want = got, got
	}
	if got != want {
		fmt.Printf("binary_trees: parameter %d: checksum %.17g, expected %.17g\n", n, got, want)
		os.Exit(1)
	}
}

func main() { krun.Main(runIter) }
