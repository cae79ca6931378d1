// Package counters runs benchmarks whose processor counters count, stand still, run backwards or
// are missing, by krund's unit on a real kernel with its real MSR devices. The rig's kernel module
// provides the register values.
package counters

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

//go:embed benchmarks
var suite embed.FS

// text is the configuration of an experiment. Iterations take half a second and the tolerance is
// wide, because on a busy host the emulator may be stopped for milliseconds between two readings.
const text = `
[experiment]
reboot = "none"
benchmarks = "benchmarks-of-counters"
executions = %d
iterations = %d
attempts = %d

[limits]
timeout = "5m"
` + rig.NoWaits + `
[counters]
%s

[verdict]
ratio_tolerance = 0.25
policy = %q

[vms.CPython]
runner = "python"
path = "python3"
variants = ["default"]

[variants.default]
entry = "bench.py"

[benchmarks]
%s = { parameter = 1 }
`

// experiment is an experiment of the suite with one benchmark.
type experiment struct {
	name       string
	benchmark  string // "": spin
	executions int    // 0 means 1
	iterations int    // 0 means 4
	attempts   int    // 0 means 1
	counters   string // TOML
	policy     string // "": accept
}

func (e experiment) text() string {
	if e.benchmark == "" {
		e.benchmark = "spin"
	}
	if e.policy == "" {
		e.policy = "accept"
	}
	return fmt.Sprintf(text, max(e.executions, 1), cmp.Or(e.iterations, 4), max(e.attempts, 1), e.counters,
		e.policy, e.benchmark)
}

// register reads an MSR of a core, as root.
func register(t *testing.T, m *rig.Machine, core int, address uint32) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(m.Sh(fmt.Sprintf(
		`python3 -c 'import os; print(int.from_bytes(os.pread(os.open("/dev/cpu/%d/msr", os.O_RDONLY), 8, %d), "little"))'`, core, address)), 10, 64)
	must.Do(t, err)
	return v
}

// setRegister writes an MSR of both cores, as root.
func setRegister(m *rig.Machine, address uint32, value uint64) {
	for core := range 2 {
		m.Sh(fmt.Sprintf(
			`python3 -c 'import os; os.pwrite(os.open("/dev/cpu/%d/msr", os.O_WRONLY), (%d).to_bytes(8, "little"), %d)'`, core, value, address))
	}
}

// Registers.
const (
	regAPERF     = 0xe8
	regCycles    = 0x30a
	regFixedCtrl = 0x38d
	regGlobal    = 0x38f
)

// steps runs an experiment with the benchmark steps: do is called with 0 before the first
// iteration, and with its number during each one.
func steps(m *rig.Machine, name string, iterations int, do func(step int)) rig.Ended {
	m.Sh("rm -f /tmp/at-* /tmp/go-*")
	m.StartExperiment(name)
	for step := range iterations + 1 {
		m.Sh(fmt.Sprintf("until [ -e /tmp/at-%d ]; do sleep 0.1; done", step))
		do(step)
		m.Sh(fmt.Sprintf("touch /tmp/go-%d", step))
	}
	return m.RunToEnd(rig.UnitOf(name), 0)
}

// counts returns a column of a record.
func counts(t *testing.T, r results.Record, name string, core int) []uint64 {
	t.Helper()
	for _, c := range r.Columns {
		if c.Name == name && c.Core != nil && *c.Core == core {
			return c.Counts
		}
	}
	t.Fatalf("no column %s of core %d\n%s", name, core, describe(r))
	return nil
}

// says reports whether one of the sentences contains all the texts.
func says(sentences []string, texts ...string) bool {
	return slices.ContainsFunc(sentences, func(s string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(s, text) })
	})
}

// printed decodes the JSON line that a benchmark printed.
func printed(t *testing.T, r results.Record, into any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(r.Process.Stdout.Text), into), describe(r))
}

func describe(r results.Record) string {
	names := []string{}
	for _, c := range r.Columns {
		names = append(names, c.Name)
	}
	return fmt.Sprintf("%s attempt %d: %s; reasons %q; source %s: %s; columns %v, %d totals; library %+v; "+
		"stderr %s", r.Key, r.Attempt, r.Outcome, r.Reasons,
		r.CounterSource, r.CounterReason, names, len(r.Totals), r.Library, r.Process.Stderr.Text)
}
