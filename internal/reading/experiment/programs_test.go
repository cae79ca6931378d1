package experiment

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestMachinePrograms: each machine has its own latest programs, and the remark names the machine
// on which they changed. An attempt that failed does not decide which programs are the latest.
func TestMachinePrograms(t *testing.T) {
	dir := t.TempDir()
	for _, host := range []string{"m1", "m2"} {
		var records []results.Record
		for slot := range 4 {
			r := keyed("", slot, slot+1)
			r.Started, r.BootID = time.Unix(int64(1000+slot), 0).UTC(), host
			program := host
			if host == "m1" && slot > 0 {
				program = "edited"
			}
			if slot == 3 {
				r.Outcome, program = results.Error, "broken"
			}
			r.Machine.Fingerprint = map[string]string{"program.benchmark.b.v": program}
			records = append(records, r)
		}
		created(t, filepath.Join(dir, host, "x.krun"), "", records...)
	}
	for host, want := range map[string]string{"m1": "m1", "m2": "m2", "": "m1", "m3": ""} {
		must.Equal(t, Recorded(durable.OS(), dir, host)["program.benchmark.b.v"], want, host)
	}
	must.Be(t, Recorded(durable.OS(), "", "") == nil && Recorded(durable.OS(), t.TempDir(), "") == nil)
	said := ""
	r := Reader{FS: durable.OS(), Message: func(format string, args ...any) {
		said += fmt.Sprintf(format, args...)
	}}
	in := must.Get(r.Read(dir, Selection{Column: dataset.Wall}))(t)
	got := ""
	for _, e := range in.Data.Pairs[0].Executions {
		got += fmt.Sprintf("%s %s, ", e.Machine, e.Outcome)
	}
	if want := "m1 other programs, m1 completed, m1 completed, m1 error, " +
		"m2 completed, m2 completed, m2 completed, m2 error, "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	must.Be(t, strings.HasPrefix(said, dir+": m1: 1 of 1 key was measured with different programs: "+
		"benchmark.b.v changed after execution 1 of b:C:v") && !strings.Contains(said, "m2"), said)
	e := must.Get(Open(durable.OS(), filepath.Join(dir, "m1", "x.krun")))(t)
	m := must.Get(e.Records(nil, "m1", func(err error) { t.Error(err) }))(t)
	var slots []int
	for rec := range m.Counting() {
		slots = append(slots, rec.Slot)
	}
	must.Equal(t, fmt.Sprint(slots), "[1 2]", "slots", slots, "count")
}

// TestStagesOfAnExperiment: a record belongs to the stage of its configuration, also that of a slot
// that ran again later. A file of editions that cannot be read is no silence.
func TestStagesOfAnExperiment(t *testing.T) {
	var list []results.Record
	for slot, edition := range []int{4, 1, 2, 4, 5} { // edition 2 accepts programs, 4 and 5 grow
		r := keyed("", slot, slot+1)
		text := map[int]string{1: "first", 2: "first", 4: "second", 5: "third"}[edition]
		r.Edition, r.ConfigHash = edition, fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		r.Machine.Fingerprint = map[string]string{"program.benchmark.b.v": "one"}
		list = append(list, r)
	}
	d := created(t, filepath.Join(t.TempDir(), "x.krun"), "", list...)
	said := ""
	r := Reader{FS: durable.OS(), Message: func(format string, args ...any) {
		said += fmt.Sprintf(format, args...)
	}}
	stages := func() (list []int) {
		in := must.Get(r.Read(d.Dir(), Selection{Column: dataset.Wall}))(t)
		for _, e := range in.Data.Pairs[0].Executions {
			list = append(list, e.Stage)
		}
		return list
	}
	must.EqualList(t, stages(), []int{1, 0, 0, 1, 2}, "stages")
	must.Equal(t, said, "", "said")
	one := map[string]identity.Program{"program.benchmark.b.v": {SHA256: "one"}}
	must.Do(t, identity.StoreEditions(durable.OS(), d.Editions(), []identity.Edition{
		{Number: 1, Config: "first", Programs: one}, {Number: 2, Programs: one},
		{Number: 4, Config: "second", From: 1, Programs: one},
		{Number: 5, Config: "third", From: 4, Programs: one}}))
	seen := map[string]int{} // for the facts, an experiment that grew has one configuration
	r.Visit = func(rec *results.Record) { seen[rec.ConfigHash]++ }
	must.EqualList(t, stages(), []int{1, 0, 0, 1, 2}, "stages")
	must.Equal(t, len(seen), 1, "configurations")
	must.Equal(t, said, "", "said")
	must.Do(t, os.WriteFile(d.Editions(), []byte("damaged"), 0o644))
	must.EqualList(t, stages(), []int{1, 0, 0, 1, 2}, "stages")
	must.Contain(t, said, "is taken from the records alone: ", "said")
	e := must.Get(Open(durable.OS(), d.Dir()))(t)
	records := must.Get(e.Records(nil, "host", func(error) {}))(t)
	must.Contain(t, records.Programs, "is taken from the records alone: ", "said")
}
