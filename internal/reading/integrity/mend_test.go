package integrity_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/integrity"
	"krund/internal/schedule"
	"krund/rig/must"
)

var seed = flag.Uint64("seed", 1, "of the random crashes")

const (
	toml = "/x/test.toml"
	dir  = "/x/test.krun"
	text = `[experiment]
executions = 3
reboot = "none"
account = "caller"
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
fasta = { parameter = 1 }
`
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func mended(f directory.Directory) ([]string, error) { return integrity.Mend(f, "lab1", false, now) }

func checked(f directory.Directory) integrity.CheckReport { return integrity.Check(f, "lab1") }

// begin begins the next slot, with a completed record of it.
func begin(t *testing.T, s *schedule.Schedule) (schedule.Slot, results.Record) {
	t.Helper()
	slot := must.Get(s.Begin())(t)
	return slot, results.Record{
		Key: slot.Key, Slot: slot.Index, Attempt: slot.Attempts, Pexec: slot.Pexec, Iterations: 1,
		Outcome: results.Completed, Reasons: []string{},
		ConfigHash: s.Header().ConfigHash, Host: "lab1", Started: now, StartNS: []int64{5},
		WallNS: []int64{7},
	}
}

// experiment has six slots: four completed, one with an error, one outstanding.
func experiment(t *testing.T) (*crashfs.FS, directory.Directory) {
	t.Helper()
	fsys := crashfs.New("/x")
	must.Do(t, durable.WriteFile(fsys, toml, []byte(text), 0o644))
	cfg := must.Get(config.Parse(toml, []byte(text), "lab1", nil))(t)
	f := must.Get(directory.Create(fsys, dir))(t)
	must.Do(t, durable.WriteFile(fsys, f.ConfigCopy(), []byte(text), 0o644))
	h := schedule.Header{ConfigHash: cfg.Hash, Created: "2026-11-21T09:00:00Z", Order: schedule.RoundRobin,
		Seed: 1}
	must.Do(t, schedule.Create(fsys, f.Schedule(), h, cfg.Slots(), schedule.Plan(cfg.Keys(), cfg.Executions,
		h.Order, 1)))
	s := must.Get(schedule.Open(fsys, f.Schedule(), true))(t)
	for i := range 5 {
		slot, rec := begin(t, s)
		flag := schedule.Completed
		if i == 2 {
			rec.Outcome, flag = results.Error, schedule.Error
		}
		must.Do(t, errors.Join(results.NewAppender(fsys, f.Results()).Append(rec), s.Finish(slot, flag)))
	}
	must.Do(t, s.Close())
	return fsys, f
}

// overwrite durably overwrites the beginning of a file.
func overwrite(t *testing.T, fsys *crashfs.FS, name string, offset int64) {
	t.Helper()
	f := must.Get(fsys.OpenFile(name, os.O_WRONLY, 0))(t)
	must.Get(f.WriteAt([]byte("damaged"), offset))(t)
	must.Do(t, f.Sync())
	must.Do(t, f.Close())
}

// broken is the experiment with damaged headers, slot, record and configuration.
func broken(t *testing.T) (*crashfs.FS, directory.Directory) {
	fsys, f := experiment(t)
	overwrite(t, fsys, f.Schedule(), 30)
	overwrite(t, fsys, f.Schedule(), 512+30)
	overwrite(t, fsys, f.Schedule(), 1024+128)
	overwrite(t, fsys, f.Results()+"/0000003-001.json.gz", 20)
	must.Do(t, fsys.Remove(f.ConfigCopy()))
	must.Do(t, fsys.SyncDir(dir))
	return fsys, f
}

func problems(list []integrity.Defect) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(string(p.Code) + " " + p.File + ": " + p.What + "\n")
	}
	return b.String()
}

func TestSoundExperimentIsUnchanged(t *testing.T) {
	fsys, f := experiment(t)
	if r := checked(f); len(r.Problems)+len(r.Notes) > 0 || r.Completed != 4 ||
		r.Records != 5 || r.Slots.Completed != 4 || r.Slots.Error != 1 {
		t.Errorf("%+v", r)
	}
	before := len(fsys.Log())
	done, err := mended(f)
	must.Be(t, err == nil && len(done) == 0 && len(fsys.Log()) == before, "done", done, err,
		len(fsys.Log())-before)
}

// TestMendCut: an interrupted repair succeeds when it is repeated, and keeps all sound records.
func TestMendCut(t *testing.T) {
	build := func() *crashfs.FS { fsys, _ := broken(t); return fsys }
	program := func(fsys *crashfs.FS) error {
		f, err := directory.Open(fsys, dir)
		if err != nil {
			return err
		}
		_, err = mended(f)
		return err
	}
	cuts := 0
	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(*seed)...) {
		cuts++
		must.Do(t, program(after), cut)
		f := must.Get(directory.Open(after, dir))(t, cut)
		r := checked(f)
		must.Need(t, len(r.Problems) == 0 && r.Completed == 3 && r.Slots.Completed == 3 &&
			r.Slots.Error == 1 && r.Slots.Outstanding == 2, cut, r.Slots, problems(r.Problems))
		done, err := mended(f)
		must.Need(t, len(done) == 0 && err == nil, cut, "a third time", done, "error", err)
	}
	must.Be(t, cuts >= 100, "only", cuts, "cuts")
}

func TestMendWithoutConfiguration(t *testing.T) {
	fsys, f := broken(t)
	must.Do(t, fsys.Remove(toml))
	must.Refused(mended(f))(t, "config.toml", "error")
	must.Refused(schedule.Open(fsys, f.Schedule(), false))(t, "", "the schedule is whole")
}

// TestBaseTemperaturesOfALostHeader: a rebuilt header has the base temperatures of the newest
// record, so that krund continues to wait for them.
func TestBaseTemperaturesOfALostHeader(t *testing.T) {
	remove := func(fsys *crashfs.FS, f directory.Directory) error { return fsys.Remove(f.Schedule()) }
	for _, test := range []struct {
		name string
		lost func(fsys *crashfs.FS, f directory.Directory) error
		base []results.Temperature // of the newest record
		want string
	}{
		{"headers", func(fsys *crashfs.FS, f directory.Directory) error {
			overwrite(t, fsys, f.Schedule(), 30)
			overwrite(t, fsys, f.Schedule(), 512+30)
			return nil
		}, []results.Temperature{{Sensor: "k10temp/Tctl", MilliC: 41500}}, "[{k10temp/Tctl 41500}]"},
		{"all of it", remove, []results.Temperature{{Sensor: "k10temp/Tctl", MilliC: 41500}},
			"[{k10temp/Tctl 41500}]"},
		{"no record knows any", remove, nil, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fsys, f := experiment(t)
			s := must.Get(schedule.Open(fsys, f.Schedule(), true))(t)
			slot, rec := begin(t, s)
			rec.Started = now.Add(time.Hour)
			rec.Machine.Temperatures.Base = test.base
			must.Do(t, errors.Join(results.NewAppender(fsys, f.Results()).Append(rec),
				s.Finish(slot, schedule.Completed), s.Close(), test.lost(fsys, f)))
			done := must.Get(mended(f))(t)
			told := strings.Contains(strings.Join(done, "\n"), "without base temperatures")
			must.Be(t, told == (test.base == nil), "done", done)
			s = must.Get(schedule.Open(fsys, f.Schedule(), false))(t)
			must.Equal(t, fmt.Sprint(s.Header().BaseTemperatures), test.want, "base temperatures")
			if r := checked(f); len(r.Problems) > 0 || r.Slots.Completed != 5 {
				t.Errorf("%s%+v", problems(r.Problems), r.Slots)
			}
		})
	}
}

// TestMachineFiles: the journal, the fingerprint, the decisions and the editions are checked; sound
// or missing ones are no problem.
func TestMachineFiles(t *testing.T) {
	const first = "3a5cd6e4 "
	for _, test := range []struct {
		name, file, text, want string
	}{
		{"sound fingerprint", "fingerprint.json", `{"kernel": "6.1"}`, ""},
		{"cut off", "fingerprint.json", `{"kernel": "6.`, "fingerprint_damaged"},
		{"empty", "fingerprint.json", "", "fingerprint_damaged"},
		{"a list", "fingerprint.json", "[]", "fingerprint_damaged"},
		{"sound decisions", "decisions.json", `{"format":1,"groups":[]}`, ""},
		{"decisions cut off", "decisions.json", `{"format":1,"gro`, "decisions_damaged"},
		{"sound editions", "editions.json", `{"format":1,"editions":[{"edition":1}]}`, ""},
		{"editions cut off", "editions.json", `{"format":1,"ed`, "editions_damaged"},
		{"no editions", "editions.json", `{"format":1}`, "editions_damaged"},
		{"editions of a later version", "editions.json", `{"format":2}`, "editions_damaged"},
		{"what a hub has", "hub.json", `{"format":1}`, ""},
		{"empty journal", "journal", "", ""},
		{"a torn end", "journal", first, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			fsys, f := experiment(t)
			must.Do(t, durable.WriteFile(fsys, dir+"/"+test.file, []byte(test.text), 0o644))
			got := problems(checked(f).Problems)
			must.Be(t, (test.want != "" || got == "") && strings.Contains(got, test.want), got, "want",
				test.want)
		})
	}
}

func TestDamagedJournal(t *testing.T) {
	fsys, f := experiment(t)
	line := func(text string) string {
		return fmt.Sprintf("%08x %s\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)), text)
	}
	head := line(`{"op":"journal","version":1}`)
	set := line(`{"op":"set","n":1,"step":{}}`)
	rest := line(fmt.Sprintf(`{"op":"set","safe":%d,"n":2,"step":{}}`, len(head)+len(set)))
	for _, test := range []struct{ name, text, want string }{
		{"sound", head + set + rest, ""},
		{"a line that was on the disk", head + strings.Replace(set, "set", "sot", 1) + rest,
			"journal_damaged journal: line 2"},
		{"newer", line(`{"op":"journal","version":99}`), "journal_version journal"},
	} {
		must.Do(t, durable.WriteFile(fsys, f.Journal(), []byte(test.text), 0o644))
		got := problems(checked(f).Problems)
		must.Be(t, (test.want != "" || got == "") && strings.Contains(got, test.want), test.name, got, "want",
			test.want)
	}
}

// TestRecordOfAnotherExecution: the record is set aside, so that it is not mistaken for the result
// of the slot, which is run again.
func TestRecordOfAnotherExecution(t *testing.T) {
	fsys, f := experiment(t)
	reader := results.NewReader(fsys, f.Results())
	name := results.Name{Slot: 1, Attempt: 1}
	rec := must.Get(reader.Load(name))(t)
	rec.Key.Benchmark = "other"
	packed := must.Get(results.Encode(rec))(t)
	must.Do(t, durable.WriteFile(fsys, f.Results()+"/"+name.String(), packed, 0o644))
	must.Contain(t, problems(checked(f).Problems), "record_differs")
	done, err := mended(f)
	must.Need(t, err == nil && len(done) == 2, "done", done, "error", err)
	r := checked(f)
	must.Be(t, len(r.Problems) == 0 && len(r.Notes) == 1 && r.Slots.Outstanding == 2 && r.Completed == 3,
		problems(r.Problems), r)
}

// blind is a file system that cannot stat the names under which a repair sets files aside.
type blind struct{ durable.FS }

func (b blind) Lstat(name string) (fs.FileInfo, error) {
	if strings.Contains(name, ".broken") {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: syscall.EIO}
	}
	return b.FS.Lstat(name)
}

// TestSetAsideReportsDiskErrors: the error is that of the disk, not that there are too many copies.
func TestSetAsideReportsDiskErrors(t *testing.T) {
	fsys, f := experiment(t)
	overwrite(t, fsys, f.Results()+"/"+results.Name{Slot: 1, Attempt: 1}.String(), 20)
	_, err := mended(must.Get(directory.Open(blind{fsys}, dir))(t))
	must.Fail(t, err, syscall.EIO, "error")
}
