package libkrun

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"krund/rig/must"
)

// BenchmarkOverhead builds libkrun.so and bench/bench.c with the C compiler and
// reports what bench.c prints: nanoseconds per empty iteration, and ratios to
// two bare clock readings of the same run. The goal for krun is 1.10.
func BenchmarkOverhead(b *testing.B) {
	dir := b.TempDir()
	build := exec.CommandContext(b.Context(), "make", "--silent", "build",
		filepath.Join(dir, "cgo", "bench"), "BUILD="+dir)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		b.Skipf("build libkrun: %v", err)
	}
	for b.Loop() {
		out := must.Get(exec.CommandContext(b.Context(), filepath.Join(dir, "cgo", "bench")).Output())(b)
		lines := bufio.NewScanner(bytes.NewReader(out))
		for lines.Scan() {
			var name string
			var ns, ratio float64
			if n, _ := fmt.Sscanf(lines.Text(), "%s %f ns/iteration %f of clock", &name, &ns,
				&ratio); n == 3 {
				b.ReportMetric(ns, name+"-ns")
				b.ReportMetric(ratio, name+"/clock")
			}
		}
	}
	b.ReportMetric(0, "ns/op") // building and starting say nothing
}
