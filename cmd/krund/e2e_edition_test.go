//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	reading "krund/internal/reading/experiment"
	"krund/rig/must"
)

// TestChangedBenchmark: an experiment whose benchmark is edited in the middle measures nothing with
// it, names the file and both hashes, and goes on when it is restored, or with a new edition.
func TestChangedBenchmark(t *testing.T) {
	t.Parallel()
	const edits = `
def run_iter(n):
    with open(__file__, "a") as f: # the first execution does what a person does in an editor
        if f.tell() < 1000:
            f.write("#" * 1000 + "\n")
`
	e := newExperiment(t)
	e.executions = 3
	e.py("edited", edits)
	file := e.entry("edited")
	const was = "was SHA-256 " // of edits: see the record
	e.run().want(t, exitError, file+" has changed", was, "is  SHA-256 ", "krund run --accept-changed ")
	must.Equal(t, e.flags(), "COO", "slots", "want COO")
	first := e.of("edited")
	hash := first.Machine.Fingerprint["program.benchmark.edited.py"]
	out := e.run()
	out.want(t, exitError, was+hash)
	e.write(filepath.Join("benchmarks", "edited", "bench.py"), edits) // restored
	e.run("--accept-changed").want(t, exitError, file+" has changed") // by the second execution
	e.run("--accept-changed").want(t, exitOK, "are accepted", "edition 2")
	var editions []int
	hashes := map[string]bool{}
	for _, r := range e.records() {
		editions = append(editions, r.Edition)
		hashes[r.Machine.Fingerprint["program.benchmark.edited.py"]] = true
		must.Equal(t,
			strings.Contains(strings.Join(r.Reasons, "\n"), file+" changed while this execution ran"),
			(r.Pexec < 3), "execution", r.Pexec, r.Reasons)
	}
	must.Be(t, len(editions) == 3 && editions[0] == 1 && editions[1] == 1 && editions[2] == 2 &&
		len(hashes) == 2, "editions", editions, len(hashes), "programs")
	must.Get(os.Stat(filepath.Join(e.directory, "editions.json")))(t)
	said := ""
	reader := reading.Reader{FS: durable.OS(), Message: func(format string, args ...any) {
		said += fmt.Sprintf(format, args...)
	}}
	d, _ := must.Get2(reader.Series(e.directory, reading.Selection{}))(t)
	for i, x := range d.Pairs[0].Executions {
		must.Equal(t, (x.Outcome == results.Completed), (i == 2), "execution", x.Number, "of", d.Pairs[0].Key,
			x.Outcome)
	}
	must.Contain(t, said, file+" changed after execution 2 of ", "the analysis")
}
