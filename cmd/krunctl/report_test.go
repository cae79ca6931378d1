package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/analysis/explain"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestReportOfOneMachine: a hub keeps an experiment in ID/MACHINE/NAME.krun also if it is of one
// machine.
func TestReportOfOneMachine(t *testing.T) {
	dir := t.TempDir()
	all := filepath.Join(dir, "all")
	must.Do(t, os.MkdirAll(filepath.Join(all, "lab1"), 0o755))
	in := krundDirectory(t, dir)
	must.Do(t, os.Rename(in, filepath.Join(all, "lab1", filepath.Base(in))))
	for _, args := range [][]string{{"report", "-o", filepath.Join(dir, "out")}, {"show", "--startup"}} {
		krunctl(t, append(args, all)...).says(t, exitOK, "", "")
	}
}

// TestExplain: the text and the JSON document are of the same keys, mistakes in flags are wrong
// usage, and nothing is changed.
func TestExplain(t *testing.T) {
	in := twoKeys(t, t.TempDir())
	before := contents(t, in)
	text := krunctl(t, "explain", in)
	first := strings.Join(strings.Fields(text.stdout), " ") // the line may be broken
	answer := ": no cause is established for any of 8 changepoints in 2 keys "
	must.Be(t, text.code == exitOK && strings.Contains(first, answer), text.text())
	var doc explain.Document
	err := json.Unmarshal([]byte(krunctl(t, "explain", "--format", "json", in).stdout), &doc)
	must.Be(t, err == nil && doc.Format == explain.Format && len(doc.Keys) == 2, err, doc)
	for i := range doc.Keys {
		must.Contain(t, text.stdout, "\n"+doc.Keys[i].Key+" (instrument off)\n", doc.Keys[i].Key, "is not")
	}
	krunctl(t, "explain", in, "--execution", "999").says(t, exitUsage, "", "--execution")
	must.Equal(t, len(contents(t, in)), len(before), "files, before")
}

// machineDirectory is a machine's part of an experiment: dir/MACHINE/test.krun.
func machineDirectory(t *testing.T, dir, machine, hypervisor string, boot int) {
	t.Helper()
	var records []results.Record
	for i := range 2 {
		r := completed(key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}, i, i+1,
			iterations(uint64(10*boot+i), 0, 100))
		r.Host, r.BootID, r.Started = "guest", fmt.Sprint("boot", boot), testTime.AddDate(0, boot, i)
		r.Machine.Fingerprint = map[string]string{"cpu.model": "CPU of " + machine, "hypervisor": hypervisor}
		r.Machine.Controls = []results.Control{
			{Name: "turbo", Policy: "want", Status: "missing", Wanted: "off",
				Detail: "no turbo on " + machine},
			{Name: "aslr", Policy: "want", Status: "ok", Wanted: "0", Found: "0"},
		}
		records = append(records, r)
	}
	storedIn(t, filepath.Join(dir, machine, "test.krun"), "", records)
}

// TestCaveatsOfSeveralMachines: a report of an experiment on several machines has the caveats and
// the controls of each, as the report of one has.
func TestCaveatsOfSeveralMachines(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	machineDirectory(t, dir, "alpha", "kvm", 1)
	machineDirectory(t, dir, "beta", "none", 2)
	r := krunctl(t, "report", dir, "-o", out)
	must.Need(t, r.code == exitOK && !strings.Contains(r.stderr, "machines"), r.text())
	page := must.Get(os.ReadFile(filepath.Join(out, "index.html")))(t)
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		"<b>alpha</b>: CPU of alpha, virtual", "<b>beta</b>: CPU of beta</dd>", "no reboots",
		"1 of 2 as wanted",
		"<h3>alpha</h3>", "<h3>beta</h3>", "no turbo on alpha", "no turbo on beta",
		"on alpha, the machine is virtual", "on alpha, beta, 2 of 2 executions ran without a reboot",
		"on alpha, beta, controls without the requested value: turbo",
	} {
		must.Contain(t, text, want, "the report lacks")
	}
	r = krunctl(t, "analyze", "--table", dir)
	must.Contain(t, r.stdout, "on alpha, the machine is virtual", "the table lacks the caveats", r.text())
}
