// Computes Fibonacci numbers: replace it by what you want to measure. runIter is called once per
// iteration and timed; its argument is the parameter in the configuration.
package main

import (
	"log"

	"bench/krun"
)

func fib(k int) int {
	if k < 2 {
		return k
	}
	return fib(k-1) + fib(k-2)
}

func runIter(n int) {
	if result := fib(n); result < n-1 { // a wrong result is no measurement
		log.Fatalf("fib(%d) = %d", n, result)
	}
}

func main() { krun.Main(runIter) }
