package exchange

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestSecondsTextIsExact(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000000000", 1: "0.000000001", 1_234_567_890: "1.234567890", -1: "-0.000000001",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		must.Equal(t, secondsText(ns), want)
	}
}

func exported(slot int, vm string, wall ...int64) results.Record {
	r := results.Record{
		Key: key.Key{Benchmark: "b", VM: vm, Variant: "v"}, Slot: slot, Attempt: 1, Pexec: slot + 1,
		Outcome: results.Completed, WallNS: wall,
	}
	for i := range wall {
		r.StartNS = append(r.StartNS, int64(i))
	}
	return r
}

func TestLongExport(t *testing.T) {
	one, two := exported(0, "C", 5, 7), exported(1, "C", 9)
	two.Columns = []results.Column{
		{Name: "gc", Kind: results.KindUser, Values: []int64{results.Missing}},
		{Name: "gc", Kind: results.KindCounter, Counts: []uint64{3}}, // the name is taken
		{Name: "aperf", Kind: results.KindCounter, Core: new(int), Counts: []uint64{1 << 62}},
	}
	records := slices.Values([]results.Record{one, two})
	for _, test := range []struct {
		options ExportOptions
		want    string
	}{
		{ExportOptions{To: math.MaxInt},
			"benchmark,vm,variant,pexec,slot,attempt,iteration,start_ns,wall_ns,wall_s," +
				"gc,counter_gc,aperf_core0\n" +
				"b,C,v,1,0,1,0,0,5,0.000000005,,,\nb,C,v,1,0,1,1,1,7,0.000000007,,,\n" +
				"b,C,v,2,1,1,0,0,9,0.000000009,,3,4611686018427387904\n"},
		{ExportOptions{From: 1, To: 2, Columns: []string{"aperf_core0"}, Outcome: true, JSON: true},
			`{"benchmark":"b","vm":"C","variant":"v","pexec":1,"slot":0,"attempt":1,"outcome":"completed",` +
				`"iteration":1,"start_ns":1,"wall_ns":7,"wall_s":0.000000007,"aperf_core0":null}` + "\n"},
	} {
		x := must.Get(NewLongExport(records, test.options))(t)
		var b bytes.Buffer
		err := x.Write(&b)
		must.Be(t, err == nil && b.String() == test.want, test.options, err, b.String(), "want", test.want)
	}
	must.Refused(NewLongExport(records, ExportOptions{Columns: []string{"x"}}))(t, `"x"`,
		"a column that no record")
}

func TestWideExport(t *testing.T) {
	records := slices.Values([]results.Record{exported(0, "C", 5, 7), exported(2, "C", 8, 9),
		exported(3, "D", 1)})
	x := must.Get(NewWideExport(records, ExportOptions{To: math.MaxInt}))(t)
	must.Refuse(t, x.Write(&bytes.Buffer{}), "*:C:v, *:D:v", "two VMs in a file")
	dir := filepath.Join(t.TempDir(), "wide")
	var wrote []string
	must.Do(t, x.WriteDirectory(durable.OS(), dir, func(file string, _ int) {
		wrote = append(wrote, filepath.Base(file))
	}))
	text, err := os.ReadFile(filepath.Join(dir, "C_v.csv"))
	want := "process_exec_num,bench_name,0,1\n0,b,0.000000005,0.000000007\n1,b,0.000000008,0.000000009\n"
	must.Be(t, err == nil && string(text) == want && slices.Equal(wrote, []string{"C_v.csv", "D_v.csv"}), err,
		wrote, text)
	uneven := slices.Values([]results.Record{exported(0, "C", 5, 7), exported(1, "C", 8)})
	must.Refused(NewWideExport(uneven, ExportOptions{To: math.MaxInt}))(t, "", "rows of different lengths")
	x, err = NewWideExport(uneven, ExportOptions{To: 1})
	must.Be(t, err == nil && len(x.order) == 1, "their common part", err)
}

func TestExecutionsExport(t *testing.T) {
	r := exported(0, "C", 5)
	used := uint64(42)
	r.Energy = []results.Energy{{Name: "package-0", Zone: "z", UJ: &used}}
	exec, first := int64(10), int64(25)
	r.Startup = results.Startup{ExecNS: &exec, FirstNS: &first}
	var b bytes.Buffer
	x := NewExecutionsExport(slices.Values([]results.Record{exported(1, "C"), r}), ExportOptions{})
	must.Do(t, x.Write(&b))
	lines := strings.Split(b.String(), "\n")
	if !strings.HasSuffix(lines[0],
		",exec_to_first_ns,daemon_cpu_ns,daemon_wake_ups,kernel_threads_cpu_ns,energy_uj_package-0_z") ||
		!strings.HasSuffix(lines[1], ",0,,,") || !strings.HasSuffix(lines[2], ",,15,0,,,42") {
		t.Error(b.String())
	}
}

// TestArmsSurviveFormats: the formats with names for keys return the arms that were written.
func TestArmsSurviveFormats(t *testing.T) {
	base := key.Key{Benchmark: "b", VM: "v", Variant: "x", Arm: "base"}
	other := base
	other.Arm = "new"
	d := &dataset.Dataset{Info: dataset.Info{Format: "krund"}}
	for _, k := range []key.Key{base, other} {
		d.Add(k, dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{{
			Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: []int64{5, 7}}}})
	}
	var krun, gobench bytes.Buffer
	must.Do(t, WriteKrunJSON(&krun, d, ""))
	must.Do(t, WriteGo(&gobench, d))
	fromKrun := must.Get(ReadKrunJSON(&krun, FileOptions{}))(t)
	fromGo := must.Get(Read(FormatGo, &gobench, FileOptions{}))(t)
	for name, got := range map[string]*dataset.Dataset{"Krun": fromKrun, "Go": fromGo} {
		must.Be(t, len(got.Pairs) == 2 && got.Pairs[0].Key == base && got.Pairs[1].Key == other, name,
			got.Pairs)
	}
	must.Equal(t, ParquetFile(other), "benchmark=b/vm=v/variant=x/arm=new/iterations.parquet")
	must.Refuse(t, writeWarmupCSV(&bytes.Buffer{}, d), "*:v:x@new",
		"two arms in a file without a column for them")
}

// TestArmsInExports: tables get a column, and files for warmup_stats are separate.
func TestArmsInExports(t *testing.T) {
	one, two := exported(0, "C", 5), exported(1, "C", 9)
	one.Key.Arm, two.Key.Arm = "base", "new"
	records := slices.Values([]results.Record{one, two})
	x := must.Get(NewLongExport(records, ExportOptions{To: math.MaxInt}))(t)
	var long, wide bytes.Buffer
	want := "benchmark,vm,variant,arm,pexec,slot,attempt,iteration,start_ns,wall_ns,wall_s\n" +
		"b,C,v,base,1,0,1,0,0,5,0.000000005\nb,C,v,new,2,1,1,0,0,9,0.000000009\n"
	err := x.Write(&long)
	must.Be(t, err == nil && long.String() == want, err, long.String(), "want", want)
	executions := NewExecutionsExport(records, ExportOptions{Outcome: true, JSON: true})
	err = executions.Write(&long)
	must.Be(t, err == nil && strings.Contains(long.String(), `"variant":"v","arm":"new","pexec":2,`), err,
		long.String())
	w := must.Get(NewWideExport(records, ExportOptions{To: math.MaxInt}))(t)
	must.Refuse(t, w.Write(&wide), "*:C:v@base, *:C:v@new", "two arms in a file of warmup_stats")
}

func FuzzParseIterations(f *testing.F) {
	for _, s := range []string{"", "0-99", "500-", "7", "9-1", "-", "1-9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		from, too, err := ParseIterations(s)
		must.Be(t, err != nil || from >= 0 && (too > from || from == math.MaxInt), s, from, "to", too)
	})
}
