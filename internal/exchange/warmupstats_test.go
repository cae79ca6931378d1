package exchange

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// warmupStats is what warmup_stats' own code is asked: to read our results of Krun, and to make
// results of our CSV.
const warmupStats = `
import json, sys
sys.path.insert(0, sys.argv[1])
from warmup.krun_results import read_krun_results_file, csv_to_krun_json
ours = read_krun_results_file(sys.argv[2])
made = csv_to_krun_json([sys.argv[3]], 'python', 'PyPy', 'Linux bencher5 6.1')[-1]
print(json.dumps({'machine': ours['audit']['uname'].split(' ')[1], 'times': ours['wallclock_times'],
    'cycles': ours['core_cycle_counts'], 'csv': read_krun_results_file(made)['wallclock_times'], 'made': made}))
`

// TestWarmupStats holds our files against the program they are for. It runs where
// KRUND_WARMUP_STATS names its directory, and needs python2.7.
func TestWarmupStats(t *testing.T) {
	root := os.Getenv("KRUND_WARMUP_STATS")
	if root == "" {
		t.Skip("KRUND_WARMUP_STATS is not set: warmup_stats itself is not asked")
	}
	python, err := exec.LookPath("python2.7")
	if err != nil {
		t.Skip("warmup_stats needs python2.7: it is not asked")
	}
	d := &dataset.Dataset{Info: dataset.Info{Machine: "bencher5"}}
	k := key.Key{Benchmark: "fasta", VM: "PyPy", Variant: "default-python"}
	d.Add(k, dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore,
			Ints: []int64{123456789, 2000000001}},
		{Name: dataset.CoreCycles, Core: 0, Counts: []uint64{1<<64 - 1, 1<<53 + 1}},
	}})
	d.Add(k, dataset.Execution{Outcome: results.Error})
	dir := t.TempDir()
	var written, table bytes.Buffer
	must.Do(t, WriteKrunJSON(&written, d, "text"))
	must.Do(t, writeWarmupCSV(&table, d))
	for name, text := range map[string][]byte{"ours.json.bz2": written.Bytes(), "ours.csv": table.Bytes(),
		"ask.py": []byte(warmupStats)} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	c := exec.CommandContext(t.Context(), python, filepath.Join(dir, "ask.py"), root,
		filepath.Join(dir, "ours.json.bz2"), filepath.Join(dir, "ours.csv"))
	c.Stderr = os.Stderr
	text := must.Get(c.Output())(t, "warmup_stats does not take our files")
	var got struct {
		Machine, Made string
		Times, CSV    map[string][][]float64
		Cycles        map[string][][][]uint64
	}
	must.Do(t, json.Unmarshal(text, &got), text)
	name := k.String()
	for what, times := range map[string][][]float64{"results": got.Times[name], "CSV": got.CSV[name]} {
		if len(times) != 2 || len(times[0]) != 2 || times[0][0] != 0.123456789 ||
			times[0][1] != 2.000000001 || len(times[1]) != 0 {
			t.Errorf("%s: %v", what, times)
		}
	}
	if c := got.Cycles[name]; got.Machine != "bencher5" || len(c) != 2 || c[0][0][0] != 1<<64-1 ||
		c[0][0][1] != 1<<53+1 {
		t.Errorf("machine %s, cycles %v", got.Machine, c)
	}
	made := must.Get(os.Open(got.Made))(t)
	defer made.Close()
	back, err := ReadKrunJSON(made, KrunOptions{Counters: true})
	if err != nil || len(back.Find(k).Executions) != 2 ||
		back.Find(k).Executions[1].Outcome == results.Completed {
		t.Errorf("what warmup_stats makes reads here as %+v, %v", back, err)
	}
}
