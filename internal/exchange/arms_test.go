package exchange

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

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
	fromKrun := must.Get(ReadKrunJSON(&krun, KrunOptions{}))(t)
	fromGo := must.Get(Read(FormatGo, &gobench, ImportOptions{}))(t)
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
