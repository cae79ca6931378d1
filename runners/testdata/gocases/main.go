// Program gocases is a benchmark in Go whose variable CASE selects what run_iter does.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	krun "krund/runners/go"
)

var calls int

var cases = map[string]func(int){
	"":      func(int) {},
	"print": func(n int) { fmt.Println(n) },
	// As benchmarks/causes/gc.
	"gc": func(n int) {
		if calls%50 == n%50 {
			runtime.GC()
		}
		calls++
	},
	"wrong": func(int) {
		if calls++; calls == 4 {
			fmt.Println("bad checksum")
			os.Exit(1)
		}
	},
	"panic": func(int) {
		if calls++; calls == 3 {
			panic("the\nthird")
		}
	},
	"nil": func(int) {
		var nowhere *struct{ field [10]int }
		nowhere.field[calls]++
	},
	// The main goroutine is in the first thread, whose identifier is that of the process.
	"thread": func(int) {
		status, err := os.ReadFile("/proc/thread-self/status")
		fmt.Println(err == nil && strings.Contains(string(status), fmt.Sprintf("\nPid:\t%d\n", os.Getpid())))
	},
}

func main() { krun.Main(cases[os.Getenv("CASE")]) }
