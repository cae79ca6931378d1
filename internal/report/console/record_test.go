package console

import (
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestRecord: every field that is not empty has a line with its path of JSON names and its unit,
// lists are bounded, and what is measured to be 0 is not empty.
func TestRecord(t *testing.T) {
	zero, exec, first, core := int64(0), int64(1e6), int64(3e6), 4
	r := results.Record{Key: key.Key{Benchmark: "b", VM: "v", Variant: "x\x1b"}, Attempt: 1,
		Outcome: results.Error, Reasons: []string{"exit status 1"}, WallNS: []int64{3e6, 1e6, 2e6},
		Startup: results.Startup{ExecNS: &exec, FirstNS: &first}, Started: time.Unix(0, 0).UTC(),
		Frequencies: []results.Frequency{{Core: &core}}}
	r.Process.Argv, r.Process.Stdout = []string{"a b"}, results.Output{Text: "hi\x1b\n", Bytes: 4}
	r.Process.Limits = results.Limits{HeapBytes: &zero, TimeoutNS: &first}
	r.Machine.Fingerprint = map[string]string{"kernel.release": "6.1"}
	r.Machine.Controls = []results.Control{{Name: "turbo", Status: "set", Found: "on", After: "off"},
		{Name: "thp", Policy: "warn", Status: "cannot", Wanted: "never", Detail: "no file"}}
	r.Machine.Temperatures.Before = []results.Temperature{{Sensor: "cpu", MilliC: 45000}}
	r.Events = make([]results.Event, mostElements+2)
	var b strings.Builder
	New(&b, &b).Record(r)
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"slot 0, attempt 1: b:v:x\\x1b", "outcome error exit status 1",
		"wall min 1.000 ms, median 2.000 ms", "start-up 2.000 ms to the first iteration command 'a b'",
		"stdout 4 B | hi\\x1b", "set turbo (on → off) not wanted thp (warn): cannot, ",
		"started 1970-01-01 00:00:00", "events 2 more; --format json has them", "frequencies core 4",
		"process.limits heap_bytes 0 B, timeout_ns 3.000 ms", "machine.fingerprint.kernel.release 6.1",
		"machine.temperatures.before sensor cpu, milli_c 45.0 °C"} {
		must.Contain(t, text, want)
	}
}
