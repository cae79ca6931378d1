package console

import (
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestRecord: what a person asks first has a sentence; every other field that is not empty has a
// line with its path of JSON names and its unit, in two columns; lists are bounded, what is
// measured to be 0 is not empty, and checksums are left out.
func TestRecord(t *testing.T) {
	zero, exec, first, core := int64(0), int64(1e6), int64(3e6), 4
	r := results.Record{Key: key.Key{Benchmark: "b", VM: "v", Variant: "x\x1b"}, Attempt: 1,
		Outcome: results.Error, Reasons: []string{"exit status 1"}, WallNS: []int64{3e6, 1e6, 2e6},
		Startup: results.Startup{ExecNS: &exec, FirstNS: &first}, Started: time.Unix(0, 0).UTC(),
		Reboot: results.RebootNone, Library: &results.Library{BegunNS: &first},
		Frequencies: []results.Frequency{{Core: &core}}}
	exit := 0
	r.Process.Exit = &exit
	r.Process.Argv, r.Process.Stdout = []string{"a b"}, results.Output{Text: "hi\x1b\n", Bytes: 4}
	r.Process.Limits = results.Limits{HeapBytes: &zero, TimeoutNS: &first}
	r.Machine.Fingerprint = map[string]string{"kernel.release": "6.1",
		"program.vm.v": strings.Repeat("0f", 32)}
	r.Machine.Controls = []results.Control{{Name: "turbo", Status: "set", Found: "on", After: "off"},
		{Name: "thp", Policy: "warn", Status: "cannot", Wanted: "never", Detail: "no file"}}
	r.Machine.Temperatures.Before = []results.Temperature{{Sensor: "cpu", MilliC: 45000}}
	r.Events = make([]results.Event, mostElements+2)
	var b strings.Builder
	New(&b, &b).Record(r)
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"slot 0, attempt 1: b:v:x\\x1b", "outcome error exit status 1",
		"wall min 1.000 ms, median 2.000 ms", "start-up 2.000 ms to the first iteration",
		"command 'a b' ended exit status 0 used wall",
		"stdout 4 B | hi\\x1b", "set turbo (on → off) not wanted thp (warn): cannot, ",
		"started 1970-01-01T00:00:00Z, reboot none", "events 2 more; --format json has them",
		"frequencies core 4",
		"limits heap 0 B, stack none, time 3.000 ms, ", "machine.fingerprint.kernel.release 6.1",
		"machine.temperatures.before sensor cpu, milli_c 45.0 °C", "kernel log not read",
		"library.begun_ns 2.000 ms after the start"} {
		must.Contain(t, text, want)
	}
	must.Be(t, !strings.Contains(text, "program.vm.v"), "a checksum in", text)
	_, fields, _ := strings.Cut(b.String(), "other fields")
	column := -1
	for _, line := range strings.Split(strings.TrimSpace(fields), "\n")[1:] {
		name, value, _ := strings.Cut(line, "  ")
		at := len(line) - len(strings.TrimLeft(value, " "))
		must.Be(t, name != "" && (column < 0 || at == column), "the values are not in a column:", fields)
		column = at
	}
}
