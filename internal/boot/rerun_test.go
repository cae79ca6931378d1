package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/integrity"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
	"krund/rig/must"
)

// withFailures runs an experiment of four slots; those of fasta, 1 and 3, fail.
func withFailures(t *testing.T, cfg *config.Config) (*simulated, *crashfs.FS) {
	t.Helper()
	s := newSimulated(t)
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		if j.Benchmark == "fasta" {
			return failed(j, boot)
		}
		return good(j, boot)
	}
	fsys := must.Get(s.lifetime(cfg, crashfs.New("/lab"), 20, rebooted))(t)
	got := flags(t, fsys)
	must.Need(t, got == "CECE", "slots", got, "want CECE")
	return s, fsys
}

func flags(t *testing.T, fsys durable.FS) string {
	t.Helper()
	s := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
	var text strings.Builder
	for slot, err := range s.Slots() {
		must.Do(t, err)
		text.WriteByte(byte(slot.Flag))
	}
	return text.String()
}

// request is `krunctl run --again --outcome error`.
func request(fsys durable.FS) error {
	d, err := directory.Open(fsys, dir)
	if err != nil {
		return err
	}
	s, err := schedule.Open(fsys, d.Schedule(), true)
	if err != nil {
		return err
	}
	if _, err := rerun.Complete(d, s); err != nil { // an earlier one
		return err
	}
	if err := rerun.Ask(d, []int{1, 3}); err != nil {
		return err
	}
	_, err = rerun.Complete(d, s)
	return errors.Join(err, s.Close())
}

func problemsOf(t *testing.T, fsys durable.FS) string {
	t.Helper()
	d := must.Get(directory.Open(fsys, dir))(t)
	var text strings.Builder
	for _, p := range integrity.Check(d, "simulated").Problems {
		if p.Code != integrity.Foreign {
			text.WriteString(string(p.Code) + " " + p.File + ": " + p.What + "\n")
		}
	}
	return text.String()
}

// TestRerunCut cuts the power in each operation of a request for reruns, and then continues the
// experiment. Either nothing was requested, or both slots run again; no record is lost, and
// schedule, records, check and repair agree at every time.
func TestRerunCut(t *testing.T) {
	must.Long(t)
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			t.Parallel()
			cfg := parse(t, experimentText("executions = 2\nattempts = 1\nmax_reboots = 5\nreboot = \""+
				reboot+"\""))
			s, before := withFailures(t, cfg)
			seen := map[string]bool{}
			for op := 1; ; op++ {
				fsys := before.Survivor(crashfs.Nothing)
				fsys.CrashAt(op)
				err := request(fsys)
				must.Need(t, fsys.IsCut() || err == nil, err)
				for _, policy := range crashfs.Policies(*seed) {
					after := fsys.Survivor(policy)
					// krund and the repair must do the same.
					if state := fmt.Sprint(fsys.IsCut(), op%2, after.State()); !seen[state] {
						seen[state] = true
						t.Logf("cut in operation %d, %s survives", op, policy)
						rerunAfterCut(t, cfg, s.boot+1, after, fsys.IsCut(), op%2 == 0)
					}
				}
				if !fsys.IsCut() {
					return
				}
			}
		})
	}
}

func rerunAfterCut(t *testing.T, cfg *config.Config, boot int, fsys *crashfs.FS, cut, mendFirst bool) {
	t.Helper()
	for problem := range strings.Lines(problemsOf(t, fsys)) {
		code, _, _ := strings.Cut(problem, " ")
		if !slices.Contains([]integrity.Code{integrity.RerunUnfinished, integrity.Leftover,
			integrity.HeaderDamaged, integrity.SlotDamaged}, integrity.Code(code)) {
			t.Fatal(problem)
		}
	}
	if mendFirst {
		mend(t, fsys)
	}
	s := newSimulated(t)
	s.boot = boot
	fsys = must.Get(s.lifetime(cfg, fsys, 20, rebooted))(t)
	got := flags(t, fsys)
	must.Need(t, got == "CCCC" || cut && got == "CECE", "slots", got)
	for _, name := range []results.Name{{Slot: 1, Attempt: 1}, {Slot: 3, Attempt: 1}} {
		file := name.String()
		if got == "CCCC" {
			file = name.Replaced()
		}
		must.Get(fsys.Lstat(dir+"/results/"+file))(t, "the record is lost")
	}
	mend(t, fsys) // a damaged copy of the header
	problems := problemsOf(t, fsys) + flags(t, fsys)
	must.Need(t, problems == got, problems)
}

// mend is `krunctl repair`.
func mend(t *testing.T, fsys durable.FS) []string {
	t.Helper()
	d := must.Get(directory.Open(fsys, dir))(t)
	return must.Get(integrity.Mend(d, "simulated", false, time.Time{}))(t)
}

// TestRerunSurvivesRebuild: a schedule that is rebuilt from the records, also after a request that
// was interrupted, keeps the slots outstanding, and a repair does not finish them.
func TestRerunSurvivesRebuild(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nattempts = 1\nreboot = \"none\""))
	for name, interrupted := range map[string]bool{"complete": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			_, fsys := withFailures(t, cfg)
			d, err := directory.Open(fsys, dir)
			must.Do(t, err)
			if interrupted {
				err = rerun.Ask(d, []int{1, 3})
			} else {
				err = request(fsys)
			}
			if err = errors.Join(err, fsys.Remove(d.Schedule())); err != nil {
				t.Fatal(err)
			}
			done := mend(t, fsys)
			must.Equal(t, flags(t, fsys), "COCO", "slots", "after the repair, want COCO", done)
			must.Equal(t, problemsOf(t, fsys), "")
			again := mend(t, fsys)
			must.Be(t, len(again) == 0, "a second repair", again)
			_, err = fsys.Lstat(dir + "/" + rerun.File)
			must.Fail(t, err, fs.ErrNotExist, "the request is still there")
		})
	}
}

// TestRerunHasNewAttempts: attempts are counted from the rerun, for lost ones, too.
func TestRerunHasNewAttempts(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nattempts = 2\nreboot = \"hardware\""))
	s := newSimulated(t)
	s.outcome = failed
	reboot := rebooted
	fsys := must.Get(s.lifetime(cfg, crashfs.New("/lab"), 20, reboot))(t)
	d, err := directory.Open(fsys, dir)
	if err == nil {
		err = rerun.Ask(d, []int{0})
	}
	must.Do(t, err)
	s.boot++
	lose := 1 // the first attempt of the rerun
	s.outcome = good
	fsys = fsys.Reboot(crashfs.Nothing)
	current := fsys
	s.during = func(context.Context) {
		if lose--; lose == 0 {
			current.CrashAt(current.Ops() + 1)
		}
	}
	fsys = must.Get(s.lifetime(cfg, fsys, 20, func(old *crashfs.FS) *crashfs.FS {
		current = reboot(old)
		return current
	}))(t)
	must.Equal(t, flags(t, fsys), "CE", "slots", "want CE")
	r, err := results.NewReader(fsys, d.Results()).Load(results.Name{Slot: 0, Attempt: 2})
	must.Be(t, err == nil && r.Outcome == results.Rerun, "attempt 2", r.Outcome, "error", err,
		"want a lost one that is run again")
}

// TestRerunOfNoSlot: a list with a slot that does not exist changes nothing; the slots before it
// were made outstanding.
func TestRerunOfNoSlot(t *testing.T) {
	cfg := parse(t, experimentText("executions = 2\nattempts = 1\nreboot = \"none\""))
	_, fsys := withFailures(t, cfg)
	d := must.Get(directory.Open(fsys, dir))(t)
	s := must.Get(schedule.Open(fsys, d.Schedule(), true))(t)
	must.Do(t, rerun.Ask(d, []int{1, 4}))
	_, err := rerun.Complete(d, s)
	must.Fail(t, err, rerun.ErrDamaged, "error")
	must.Equal(t, flags(t, fsys), "CECE", "slots", "want CECE")
}
