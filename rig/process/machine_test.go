// Package process runs unusual benchmarks on a complete machine, where krund runs in its unit and
// as root. It tests what one execution leaves to the next, what a benchmark sees of its limits,
// what happens to one that exceeds its deadline, and what krund itself leaves behind. One boot
// serves all tests: none needs a reboot.
package process

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

//go:embed benchmarks litter outlive held
var suite embed.FS

// common is the shared part of the configurations. Its verbs: benchmarks, executions, iterations,
// skip, limits, controls.
const common = `
[experiment]
reboot = "none"
attempts = 1
benchmarks = %q
executions = %d
iterations = %d
skip = [%s]

[limits]
%s
` + rig.NoWaits + `
[controls]
tickless = "require"
%s

[vms.CPython]
runner = "python"
path = "python3"
variants = ["default"]

[variants.default]
entry = "bench.py"
`

// experiment is an experiment of the suite: all benchmarks of a directory in this package.
type experiment struct {
	name       string // name of the experiment, and of the directory of its benchmarks
	executions int
	iterations int
	limits     string
	more       string // TOML
	skip       string
	controls   string // TOML of the section [controls]
}

// add adds the experiment to the payload.
func (e experiment) add(t *testing.T, files *rig.Payload) {
	t.Helper()
	names, err := files.Benchmarks(e.name, suite, e.name)
	must.Need(t, err == nil && len(names) != 0, "benchmarks of", e.name, names, err)
	text := fmt.Sprintf(common, e.name, e.executions, e.iterations, e.skip, e.limits, e.controls) + e.more +
		"\n[benchmarks]\n"
	for _, name := range names {
		text += name + " = { parameter = 1 }\n"
	}
	files.Experiment(e.name, text)
}

// of returns the only record of a benchmark.
func of(t *testing.T, e *rig.Experiment, benchmark, vm string) results.Record {
	t.Helper()
	var found []results.Record
	for _, r := range e.Records {
		if r.Key.Benchmark == benchmark && r.Key.VM == vm {
			found = append(found, r)
		}
	}
	must.Need(t, len(found) == 1, len(found), "records of", benchmark, "with", vm, "want 1")
	return found[0]
}

// said decodes the JSON line that a benchmark printed.
func said(t *testing.T, r results.Record, into any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(r.Process.Stdout.Text), into), "what", r.Key, "printed",
		r.Process.Stdout.Text, r.Process.Stderr.Text)
}

// describe returns a short description of a record for a failure message.
func describe(r results.Record) string {
	p := r.Process
	return fmt.Sprintf("%s: %s; reasons: %s; exit %v, signal %q; %d iterations; strays %d; findings %q; "+
		"stderr: %s", r.Key, r.Outcome,
		strings.Join(r.Reasons, "; "), value(p.Exit), p.Signal, len(r.WallNS), p.Strays, p.Findings,
		p.Stderr.Text)
}

func value(p *int) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}
