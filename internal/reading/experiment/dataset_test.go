package experiment

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// record is a small one of two iterations.
func record(k key.Key, slot, attempt, pexec int, outcome results.Outcome) results.Record {
	core := 3
	return results.Record{
		Key: k, Experiment: "test", Host: "bencher5", Slot: slot, Attempt: attempt, Pexec: pexec,
		Iterations: 2, Outcome: outcome, Reasons: []string{}, Reboot: results.RebootNone,
		Clock:   "CLOCK_MONOTONIC_RAW",
		StartNS: []int64{1000, 2000}, WallNS: []int64{500, 1500000000},
		Columns: []results.Column{
			{Name: "cycles", Unit: "", Kind: results.KindCounter, Core: &core, Counts: []uint64{1<<64 - 1,
				7}},
			{Name: "gc", Unit: "ns", Kind: results.KindUser, Values: []int64{results.Missing, 250}},
		},
	}
}

// keyed is record of the benchmark b with an arm.
func keyed(arm string, slot, pexec int) results.Record {
	k := key.Key{Benchmark: "b", VM: "C", Variant: "v", Arm: arm}
	return record(k, slot, 1, pexec, results.Completed)
}

func writeRecords(t *testing.T, records ...results.Record) string {
	t.Helper()
	dir := t.TempDir()
	appendRecords(t, dir, records)
	return dir
}

func appendRecords(t *testing.T, dir string, records []results.Record) {
	t.Helper()
	a := results.NewAppender(durable.OS(), dir)
	for _, r := range records {
		must.Do(t, a.Append(r))
	}
}

// created makes the directory of an experiment; without a text it has no configuration.
func created(t *testing.T, path, text string, records ...results.Record) directory.Directory {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	d := must.Get(directory.Create(durable.OS(), path))(t)
	if text != "" {
		must.Do(t, durable.WriteFile(durable.OS(), d.ConfigCopy(), []byte(text), 0o644))
	}
	appendRecords(t, d.Results(), records)
	return d
}

// silent is a reader whose sources are whole.
func silent(t *testing.T) Reader {
	return Reader{FS: durable.OS(), LeaveOut: func(_, why string) { t.Error(why) },
		Message:  func(string, ...any) {},
		Progress: func(string) (func(warmup.Progress), func()) { return nil, func() {} }}
}

func TestReadResults(t *testing.T) {
	a := key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}
	b := key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}
	stamped, exec := record(b, 0, 1, 1, results.Completed), int64(100)
	stamped.Startup.ExecNS = &exec
	dir := writeRecords(t, stamped, record(a, 1, 1, 1, results.Rerun), record(a, 1, 2, 1, results.Completed),
		record(a, 1, 3, 1, results.Completed), record(a, 2, 1, 2, results.Error))
	d := must.Get(ReadResults(durable.OS(), dir, nil))(t)
	must.Be(t,
		d.Machine == "bencher5" && d.Experiment == "test" && len(d.Problems) == 0 && d.Pairs[0].Key == b, d)
	var outcomes []results.Outcome
	for _, e := range d.Find(a).Executions {
		outcomes = append(outcomes, e.Outcome)
	}
	must.EqualList(t, outcomes,
		[]results.Outcome{results.Rerun, results.Completed, results.Rerun, results.Error}, "outcomes")
	e := d.Find(b).Executions[0]
	if want := 1.4e-6; e.FirstResult != want || d.Find(a).Executions[3].FirstResult != 0 {
		t.Errorf("first result %v (from exec at 100 ns to 1500 ns), %+v", e.FirstResult,
			d.Find(a).Executions[3])
	}
	must.Equal(t, results.Missing, int64(dataset.MissingInt))
	wall, _ := e.Column(dataset.Wall, dataset.NoCore)
	cycles, ok := e.Column(dataset.CoreCycles, 3)
	gc, _ := e.Column("gc", dataset.NoCore)
	seconds, unit := wall.Floats()
	must.Be(t, slices.Equal(seconds, []float64{5e-7, 1.5}) && unit == dataset.Seconds, "wall times", seconds,
		unit)
	must.Be(t, ok && slices.Equal(cycles.Counts, []uint64{1<<64 - 1, 7}) && slices.Equal(gc.Ints,
		[]int64{dataset.MissingInt, 250}), "columns", e.Columns)
	d = must.Get(ReadResults(durable.OS(), dir, func(name string) bool { return name == "gc" }))(t)
	must.Equal(t, len(d.Pairs[0].Executions[0].Columns), 2, "with gc only", d.Pairs[0].Executions[0].Columns)
}

// TestDamagedRecordsAreReported: the others are still read.
func TestDamagedRecordsAreReported(t *testing.T) {
	a := key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}
	other := record(a, 1, 1, 2, results.Completed)
	other.Host = "bencher6"
	unequal := record(a, 2, 1, 3, results.Completed)
	unequal.Columns[0].Counts = []uint64{1}
	dir := writeRecords(t, record(a, 0, 1, 1, results.Completed), other, unequal,
		record(a, 3, 1, 4, results.Completed))
	name := filepath.Join(dir, results.Name{Slot: 3, Attempt: 1}.String())
	must.Do(t, os.WriteFile(name, []byte("torn"), 0o644))
	d := must.Get(ReadResults(durable.OS(), dir, nil))(t)
	must.Need(t, len(d.Pairs[0].Executions) == 2 && len(d.Problems) == 3 && len(d.LeftOut) == 2,
		len(d.Pairs[0].Executions), "executions, problems", d.Problems)
	for i, want := range []string{"machines", "0000002-001", "0000003-001"} {
		must.Contain(t, d.Problems[i], want, "problem")
	}
	must.Refused(ReadResults(durable.OS(), filepath.Join(dir, "missing"), nil))(t, "",
		"a missing directory was not refused")
}

func TestNothing(t *testing.T) {
	k := key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}
	failed := record(k, 0, 1, 1, results.Error)
	failed.Reasons = []string{"ended by signal SIGSEGV"}
	for want, records := range map[string][]results.Record{
		"it has no executions": nil,
		"none of its 2 executions was completed; the first: fasta:C:default-c, execution 1: ended by " +
			"signal SIGSEGV": {failed, record(k, 1, 1, 2, results.Timeout)},
		"": {failed, record(k, 1, 1, 2, results.Completed)},
	} {
		d, err := ReadResults(durable.OS(), writeRecords(t, records...), nil)
		got := nothing(d)
		must.Be(t, err == nil && got == want, "got", got, "error", err, "want", want)
	}
}

// TestFirstResultOfCommands: the time before the first run of a command is that of the commands
// which prepare it.
func TestFirstResultOfCommands(t *testing.T) {
	text := `[vms.C]
runner = "c"
variants = ["c"]
[vms.sh]
runner = "command"
args = ["true"]
variants = ["sh"]
[variants.c]
entry = "bench.so"
[variants.sh]
[benchmarks]
b = { parameter = 1 }
`
	exec := int64(100)
	var records []results.Record
	for slot, k := range []key.Key{{Benchmark: "b", VM: "C", Variant: "c"},
		{Benchmark: "b", VM: "sh", Variant: "sh"}} {
		r := record(k, slot, 1, 1, results.Completed)
		r.Startup.ExecNS = &exec
		records = append(records, r)
	}
	d := created(t, filepath.Join(t.TempDir(), "x.krun"), text, records...)
	in := must.Get(Reader{FS: durable.OS()}.Read(d.Dir(), Selection{Column: dataset.Wall}))(t)
	for i, want := range []float64{1.4e-6, 0} {
		p := in.Data.Pairs[i]
		must.Equal(t, p.Executions[0].FirstResult, want, p.Key)
	}
}
