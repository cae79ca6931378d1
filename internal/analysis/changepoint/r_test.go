package changepoint

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/rig/must"
)

// runR runs a script of R that has the package changepoint, with the series (one file each) as its
// arguments. The test is skipped where R or the package is missing.
func runR(t testing.TB, script string, series ...[]float64) string {
	t.Helper()
	rscript, err := exec.LookPath("Rscript")
	if err != nil {
		t.Skip("Rscript is not installed: not compared with R")
	}
	check := exec.CommandContext(t.Context(), rscript, "-e", "library(changepoint)")
	if err := check.Run(); err != nil {
		t.Skip("R has no package changepoint: not compared with R")
	}
	dir := t.TempDir()
	args := []string{"-e",
		"suppressMessages(library(changepoint)); for (f in commandArgs(TRUE)) { x <- scan(f, quiet=TRUE); " +
			script + "}"}
	for i, x := range series {
		var text strings.Builder
		for _, v := range x {
			fmt.Fprintln(&text, strconv.FormatFloat(v, 'g', -1, 64))
		}
		name := filepath.Join(dir, fmt.Sprintf("%03d", i))
		must.Do(t, os.WriteFile(name, []byte(text.String()), 0o644))
		args = append(args, name)
	}
	out, err := exec.CommandContext(t.Context(), rscript, args...).CombinedOutput()
	must.Need(t, err == nil, "R", err, out)
	return string(out)
}

const detectInR = `cpt.meanvar(x, method="PELT", penalty="Manual", pen.value=15*log(length(x)))`

// TestSameAsR compares made-up series of every shape with R where it has the package.
func TestSameAsR(t *testing.T) {
	var series [][]float64
	var names []string
	for _, shape := range shapes {
		r := rand.New(rand.NewPCG(21, uint64(len(series))))
		x := shape.make(r, 300)
		if _, err := Detect(x, Options{Penalty: LogN(15)}); err == nil {
			series = append(series, x)
			names = append(names, shape.name)
		}
	}
	out := runR(t, "cat("+detectInR+`@cpts, "\n"); `, series...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	must.Need(t, len(lines) == len(series), "R", len(lines), "lines for", len(series), "series", out)
	for i, line := range lines {
		var want []int
		for _, word := range strings.Fields(line) {
			n := must.Get(strconv.Atoi(word))(t)
			want = append(want, n)
		}
		found, err := Detect(series[i], Options{Penalty: LogN(15)})
		must.Be(t, err == nil && slices.Equal(ends(found), want), names[i], found, err, "R says", want)
	}
	t.Logf("%d series compared with R", len(series))
}

// BenchmarkR reports the processor time of R's cpt.meanvar on the series of BenchmarkDetect, in the
// same unit.
func BenchmarkR(b *testing.B) {
	for _, c := range benchmarks[:3] {
		b.Run(c.name, func(b *testing.B) {
			series := jumps(rand.New(rand.NewPCG(1, 1)), c.n, c.changes)
			const calls = 50
			out := runR(b, fmt.Sprintf(
				`invisible(%s); t <- proc.time(); for (i in 1:%d) %s; d <- proc.time() - t; cat((d[[1]]+d[[2]])/%d*1e9, "\n"); `,
				detectInR, calls, detectInR, calls), series)
			ns := must.Get(strconv.ParseFloat(strings.TrimSpace(out), 64))(b)
			for b.Loop() { // the work was done by R
			}
			b.ReportMetric(ns, "ns/op")
		})
	}
}
