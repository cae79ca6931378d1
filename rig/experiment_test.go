package rig

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

var nbody = key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}

// experiment creates the directory of an experiment with three slots: the first two are completed,
// the third runs its second attempt.
func experiment(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x.krun")
	f := must.Get(directory.Create(durable.OS(), dir))(t)
	h := schedule.Header{ConfigHash: "c0ffee", Created: "2026-11-21T09:00:00Z", Order: schedule.RoundRobin,
		Seed: 1}
	three := func(key.Key) int { return 3 }
	must.Do(t, schedule.Create(durable.OS(), f.Schedule(), h, 3,
		schedule.Plan([]key.Key{nbody}, three, schedule.RoundRobin, 1)))
	s := must.Get(schedule.Open(durable.OS(), f.Schedule(), true))(t)
	for i, flag := range []schedule.Flag{schedule.Completed, schedule.Completed, schedule.Outstanding, 0} {
		slot := must.Get(s.Begin())(t)
		if flag == 0 {
			break
		}
		outcome := results.Completed
		if flag == schedule.Outstanding {
			outcome = results.Rerun
		}
		appendRecord(t, dir, slot, fmt.Sprint("boot", i), outcome)
		must.Do(t, s.Finish(slot, flag))
	}
	must.Do(t, s.Close())
	return dir
}

func appendRecord(t *testing.T, dir string, slot schedule.Slot, boot string, outcome results.Outcome) {
	t.Helper()
	r := results.Record{
		Key: slot.Key, Slot: slot.Index, Attempt: slot.Attempts, Pexec: slot.Pexec, Outcome: outcome,
		Reboot: results.RebootHardware, BootID: boot,
	}
	must.Do(t, results.NewAppender(durable.OS(), filepath.Join(dir, "results")).Append(r))
}

func read(t *testing.T, dir string) *Experiment {
	t.Helper()
	e := must.Get(ReadExperiment(dir))(t)
	return e
}

func TestExperimentWithoutProblems(t *testing.T) {
	e := read(t, experiment(t))
	p := append(e.Problems(), e.Since(e)...)
	must.Be(t, p == nil, "problems", p)
	must.Be(t, !e.Finished() && e.Count(schedule.Completed) == 2 && e.Count(schedule.Running) == 1 &&
		len(e.Records) == 3, "finished", e.Finished(), e.Count(schedule.Completed), "completed",
		e.Count(schedule.Running), "running", len(e.Records), "records")
	e.Slots[2].Flag = schedule.Error
	p = e.Problems()
	must.Be(t, p == nil && e.Finished(), "finished", e.Finished(), "problems", p)
}

func TestExperimentProblems(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Experiment)
		want  string
	}{
		{"lost", func(e *Experiment) { e.Records = e.Records[1:] },
			"slot 0 is completed and has no completed record: lost"},
		{"twice", func(e *Experiment) {
			again := e.Records[0]
			again.BootID, again.Attempt = "other", 2
			e.Slots[0].Attempts = 2
			e.Records = append(e.Records, again)
		}, "slot 0 has 2 completed records: counted twice"},
		{"not counted", func(e *Experiment) { e.Slots[2].Attempts = 0 },
			"0000002-001.json.gz: the schedule has counted 0 attempts only"},
		{"completed, slot says error", func(e *Experiment) { e.Slots[1].Flag = schedule.Error },
			"0000001-001.json.gz is completed, its slot says error"},
		{"same boot", func(e *Experiment) { e.Records[1].BootID = "boot0" },
			"0000000-001.json.gz and 0000001-001.json.gz ran in the same boot"},
		{"wrong slot", func(e *Experiment) { e.Records[1].Pexec = 7 }, "not what its slot was planned for"},
		{"no such slot", func(e *Experiment) { e.Records[2].Slot = 3 }, "not what its slot was planned for"},
	} {
		e := read(t, experiment(t))
		c.spoil(e)
		must.Contain(t, strings.Join(e.Problems(), "; "), c.want, c.name, "in it")
	}
}

func TestExperimentSince(t *testing.T) {
	dir := experiment(t)
	earlier := read(t, dir)
	for _, c := range []struct {
		name  string
		spoil func(*Experiment)
		want  string
	}{
		{"record gone", func(e *Experiment) { e.Records = e.Records[1:] }, "0000000-001.json.gz is gone"},
		{"record changed", func(e *Experiment) { e.Records[1].Host = "other" },
			"0000001-001.json.gz has changed"},
		{"slot undone", func(e *Experiment) { e.Slots[0].Flag = schedule.Outstanding },
			"slot 0 was completed, now outstanding"},
		{"attempts undone", func(e *Experiment) { e.Slots[2].Attempts = 1 }, "slot 2 had 2 attempts, now 1"},
		{"reboots undone", func(e *Experiment) { e.Header.Reboots = -1 }, "0 reboots were counted, now -1"},
		{"size", func(e *Experiment) { e.Size++ }, "the schedule had"},
	} {
		e := read(t, dir)
		c.spoil(e)
		must.Contain(t, strings.Join(e.Since(earlier), "; "), c.want, c.name, "in it")
	}
}

func TestExperimentThatCannotBeRead(t *testing.T) {
	damage := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
			text[len(text)-20] ^= 1
			write(t, filepath.Join(dir, name), string(text))
		}
	}
	for _, c := range []struct {
		name string
		do   func(*testing.T, string)
	}{
		{"damaged slot", damage("schedule")},
		{"damaged record", damage("results/0000001-001.json.gz")},
		{"no schedule", func(t *testing.T, dir string) {
			must.Do(t, os.Remove(filepath.Join(dir, "schedule")))
		}},
	} {
		dir := experiment(t)
		c.do(t, dir)
		must.Refused(ReadExperiment(dir))(t, "", c.name, "no error")
	}
	_, err := ReadExperiment("/no/such.krun")
	must.Fail(t, err, os.ErrNotExist, "no directory")
}

func TestUntar(t *testing.T) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, h := range []tar.Header{
		{Name: "x.krun/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "x.krun/results/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "x.krun/results/a", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "x.krun/link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
	} {
		must.Do(t, w.WriteHeader(&h))
		if h.Size > 0 {
			must.Get(w.Write([]byte("abc")))(t)
		}
	}
	must.Do(t, w.Close())
	dir := t.TempDir()
	must.Do(t, untar(dir, bytes.NewReader(packed.Bytes())))
	got, err := os.ReadFile(filepath.Join(dir, "x.krun/results/a"))
	must.Be(t, err == nil && string(got) == "abc", got, err)
	_, err = os.Lstat(filepath.Join(dir, "x.krun/link"))
	must.Be(t, os.IsNotExist(err), "a link was unpacked", err)
	must.Refuse(t, untar(dir, bytes.NewReader(packed.Bytes()[:600])), "", "no error from a torn archive")
}
