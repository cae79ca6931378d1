package boot

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

func hardware(extra string) string {
	return experimentText("executions = 1\nreboot = \"hardware\"\n" + extra)
}

// oneBoot runs krund once and fails the test on an error.
func (s *simulated) oneBoot(cfg *config.Config, fsys *crashfs.FS) Ending {
	s.t.Helper()
	ending := must.Get(Run(s.t.Context(), cfg, dir, cfg.Experiment.Reboot, s.system(fsys)))(s.t)
	return ending
}

func TestTheLine(t *testing.T) {
	s, fsys, cfg := simulate(t, hardware(""))
	must.Be(t, !Started(fsys, dir), "it has not begun")
	if ending := s.oneBoot(cfg, fsys); ending != Rebooting {
		t.Fatalf("ending %d: the machine must restart before the very first execution, too", ending)
	}
	must.EqualList(t, s.events, []string{"restore leftover", "base", "reboot"}, "first start")
	must.Be(t, Started(fsys, dir), "it has begun")
	s.boot, s.events = 2, nil
	s.oneBoot(cfg, fsys)
	want := []string{
		"restore leftover", "sync", "settle 10s of 3m0s", "apply", "hooks before", "sync", "wait 30s",
		"base", "wait 1m0s", "base", // with the settings applied, as the gate compares them
		"gate", "before",
		"show running", "run", "after", "hooks after", "reboot", "leave to restart",
	}
	must.EqualList(t, s.events, want, "second boot")
	s.boot, s.events = 3, nil
	must.Equal(t, s.oneBoot(cfg, fsys), Finished, "third boot ended as", "want Finished")
	// boot 2's settings ended with that boot
	last := s.events[len(s.events)-2]
	must.Be(t, last == "restore" && s.applied == 1, "the machine is not restored at the end", s.events)
	must.Be(t, s.retired && s.reboots == 2, "retired", s.retired, "after", s.reboots,
		"reboots, want true and 2")
}

func TestABootIsUsedOnce(t *testing.T) {
	s, fsys, cfg := simulate(t, hardware(""))
	s.oneBoot(cfg, fsys)
	s.events = nil
	s.oneBoot(cfg, fsys) // krund is started again in the boot in which the schedule was made
	must.Be(t, !slices.Contains(s.events, "run") && s.reboots == 2, "events", s.events, s.reboots,
		"reboots: want no run and one more reboot")
}

func TestRebootsAreBounded(t *testing.T) {
	s, fsys, cfg := simulate(t, hardware("max_reboots = 2"))
	s.oneBoot(cfg, fsys)
	s.oneBoot(cfg, fsys)
	_, err := Run(t.Context(), cfg, dir, config.RebootHardware, s.system(fsys))
	must.Be(t, errors.Is(err, ErrReboots) && s.reboots == 2 && s.retired, "error", err, "after", s.reboots,
		"reboots, retired", s.retired, "want ErrReboots, 2, true")
}

func TestInterruptionGivesTheAttemptBack(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nattempts = 1\nreboot = \"none\""))
	for range 5 { // more often than there are attempts
		ctx, cancel := context.WithCancel(t.Context())
		s.during = func(context.Context) { cancel() }
		ending, err := Run(ctx, cfg, dir, config.RebootNone, s.system(fsys))
		must.Need(t, err == nil && ending == Interrupted, "ending", ending, err, "want Interrupted")
	}
	must.Be(t, s.applied == 0 && s.events[len(s.events)-3] == "hooks after", "not restored", s.events)
	s.during = nil
	s.oneBoot(cfg, fsys)
	must.Do(t, audit(fsys, cfg, nil))
}

func TestAnUnfitMachineStops(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nattempts = 1\nreboot = \"none\""))
	unfit := errors.New("turbo cannot be switched off")
	s.fit = func(int) error { return unfit }
	for range 3 {
		_, err := Run(t.Context(), cfg, dir, config.RebootNone, s.system(fsys))
		must.Need(t, errors.Is(err, ErrUnfit) && errors.Is(err, unfit), "error", err,
			"want ErrUnfit with the reason")
		must.Need(t, s.applied == 0, "settings were left behind")
	}
	must.Contain(t, s.log.String(),
		`msg=stopped error="the machine is not fit to measure: control: turbo cannot be switched off"`,
		"the log does not say why")
	must.Be(t, slices.Contains(s.mails, "stopped"), "no notification", s.mails)
	s.fit = nil
	s.oneBoot(cfg, fsys)
	must.Do(t, audit(fsys, cfg, nil))
}

func TestErrorsAreRecordedAndTheRestGoesOn(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 2\nreboot = \"none\"\n[notify]\nmail = "+
		"[\"a@example.org\"]\nmax_mails = 3"))
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		if j.Benchmark == "nbody" {
			return failed(j, boot)
		}
		return good(j, boot)
	}
	s.oneBoot(cfg, fsys)
	outcomes := map[string][]results.Outcome{}
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		outcomes[r.Key.Benchmark] = append(outcomes[r.Key.Benchmark], r.Outcome)
		must.Be(t, r.Outcome != results.Error || len(r.Reasons) != 0, "an error without a reason")
	}
	must.Be(t, slices.Equal(outcomes["nbody"], []results.Outcome{results.Error, results.Error}) &&
		slices.Equal(outcomes["fasta"], []results.Outcome{results.Completed, results.Completed}), "outcomes",
		outcomes)
	must.EqualList(t, s.mails, []string{"started", "flagged", "finished"}, "mails",
		"the last mail is reserved for the end")
	for _, want := range []string{"msg=\"execution ended\" slot=0", "outcome=error reasons=\"exit status 1",
		"outcome=completed"} {
		must.Contain(t, s.log.String(), want, "is not in the log")
	}
}

func TestAnotherConfigurationIsRefused(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.oneBoot(parse(t, experimentText("executions = 2\nreboot = \"none\"")), fsys)
	changed := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	_, err := Run(t.Context(), changed, dir, config.RebootNone, s.system(fsys))
	var other *directory.OtherConfig
	must.Be(t, errors.As(err, &other) && len(other.Changes) == 1 &&
		other.Changes[0].String() == "experiment.executions was 2 and is 1 (line 4)", err,
		"want the key that differs")
}

func TestAnExperimentOfANewerKrundIsLeftAlone(t *testing.T) {
	s, fsys, cfg := simulate(t, hardware(""))
	for range 2 { // the schedule, and the first of two executions
		s.boot++
		s.oneBoot(cfg, fsys)
	}
	first := results.Name{Slot: 0, Attempt: 1}
	file := dir + "/results/" + first.String()
	r, err := results.NewReader(fsys, dir+"/results").Load(first)
	must.Do(t, err)
	text := must.Get(json.Marshal(r))(t)
	newer := bytes.Replace(text, []byte(`"format":1,`), []byte(`"format":2,"beyond":[1],`), 1)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err = zip.Write(newer)
	must.Do(t, errors.Join(err, zip.Close(), durable.WriteFile(fsys, file, packed.Bytes(), 0o644)))
	before := must.Get(durable.ReadFile(fsys, dir+"/schedule"))(t)
	s.boot, s.events, s.retired = 9, nil, false
	_, err = Run(t.Context(), cfg, dir, config.RebootHardware, s.system(fsys))
	must.Be(t, errors.Is(err, results.ErrVersion) &&
		strings.Contains(err.Error(), "record of slot 0 has format 2"), err, "want one of a newer format")
	after, err := durable.ReadFile(fsys, dir+"/schedule")
	must.Be(t, err == nil && bytes.Equal(after, before) && !s.retired && !slices.Contains(s.events, "reboot"),
		err, "events", s.events, "schedule changed", !bytes.Equal(after, before), "want nothing touched")
}

// damaged returns a disk with an experiment of four slots: the first is completed, the others are
// outstanding, and the lines of the first two are damaged.
func damaged(t *testing.T, s *simulated, cfg *config.Config) *crashfs.FS {
	t.Helper()
	fsys := crashfs.New("/lab")
	s.oneBoot(cfg, fsys) // makes the schedule
	s.boot++
	s.oneBoot(cfg, fsys)
	s.boot++
	plan := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
	defer plan.Close()
	const sector, copies = 512, 2
	h := plan.Header()
	text := fsys.Files()[dir+"/schedule"]
	for slot := range 2 {
		copy(text[copies*h.Sectors*sector+slot*h.Width:], "rubbish")
	}
	fsys.Put(dir+"/schedule", text)
	return fsys
}

const fourSlots = "executions = 2\nreboot = \"hardware\""

// TestDamagedSlotsOnABrokenDisk: when the schedule cannot be rebuilt, whichever write fails, the
// experiment stops with an error and can be continued afterwards.
func TestDamagedSlotsOnABrokenDisk(t *testing.T) {
	must.Long(t)
	cfg := parse(t, experimentText(fourSlots))
	last, stopped := 1, 0
	for op := 0; op <= last; op++ { // 0: the disk is in order
		s := newSimulated(t)
		fsys := damaged(t, s, cfg)
		s.log.Reset()
		before := fsys.Ops()
		if op > 0 {
			fsys.Inject(crashfs.Fault{Op: before + op, Err: syscall.EIO})
		}
		_, err := Run(t.Context(), cfg, dir, config.RebootHardware, s.system(fsys))
		must.Need(t, (err == nil || errors.Is(err, syscall.EIO)) && (op != 0 || err == nil),
			"fault in operation", op, err)
		if op == 0 {
			last = fsys.Ops() - before
		}
		if !strings.Contains(s.log.String(), "has been rebuilt") {
			stopped++
		}
		fsys.Heal()
		s.boot++
		fsys, err = s.lifetime(cfg, fsys, 10, rebooted)
		must.Do(t, errors.Join(err, audit(fsys, cfg, nil)), "fault in operation", op)
	}
	must.Be(t, stopped >= 5, last, "faults", stopped, "prevented the repair")
}

func TestALostAttemptIsCountedOnlyWhenTheMachineStopped(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nattempts = 2\nreboot = \"none\""))
	kill := func() { // SIGKILL: krund is gone in the middle of a run, the disk is as it is
		s.during = func(context.Context) { fsys.CrashAt(fsys.Ops() + 1) }
		_, err := Run(t.Context(), cfg, dir, config.RebootNone, s.system(fsys))
		must.Need(t, errors.Is(err, crashfs.ErrPowerCut), "error", err)
		fsys, s.during, s.applied = fsys.Reboot(crashfs.Everything), nil, 0
	}
	for range 6 {
		kill() // in the same boot
	}
	s.boot++ // the machine stopped as well, once
	s.oneBoot(cfg, fsys)
	must.Do(t, audit(fsys, cfg, nil))
	first, err := results.NewReader(fsys, dir+"/results").Load(results.Name{Slot: 0, Attempt: 1})
	if err != nil || first.Outcome != results.Rerun || !strings.Contains(first.Reasons[0], "attempt 1") {
		t.Errorf("record of the lost attempt: %v %q %v", first.Outcome, first.Reasons, err)
	}
	must.Equal(t, first.BootID, "boot-1", "the lost attempt belongs to", "want boot-1, in which it began")
}

// TestNotifiesThatKrundWasKilled: only the next krund can send the notification.
func TestNotifiesThatKrundWasKilled(t *testing.T) {
	for _, test := range []struct {
		name, reboot string
		boot         int // of the krund after the one that is killed in boot 2
		told         string
	}{
		{"no reboots", config.RebootNone, 2, "nbody:C:default-c, execution 1, is repeated; the attempt " +
			"does not count.\nThe krund that began it: it was killed (by the kernel because memory ran out"},
		{"krund alone", config.RebootHardware, 2, "krund, not the machine, stopped in the middle of " +
			"attempt 1: it was killed (by the kernel because memory ran out"},
		{"the machine, too", config.RebootHardware, 3, "the machine or krund stopped in the middle of " +
			"attempt 1 (power cut, crash, reset, or krund was killed)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 1\nreboot = \""+test.reboot+"\""))
			if test.reboot == config.RebootHardware {
				s.oneBoot(cfg, fsys) // which makes the schedule
			}
			s.boot = 2
			s.during = func(context.Context) { fsys.CrashAt(fsys.Ops() + 1) }
			_, err := Run(t.Context(), cfg, dir, test.reboot, s.system(fsys))
			must.Need(t, errors.Is(err, crashfs.ErrPowerCut), "error", err)
			s.told, s.mails, s.boot, s.during, s.applied = nil, nil, test.boot, nil, 0
			s.oneBoot(cfg, fsys.Reboot(crashfs.Everything))
			told := strings.Join(s.told, "\n")
			must.Be(t, strings.Count(told, test.told) == 1 && s.mails[0] == "flagged", "mails", s.mails,
				"notifications", told)
		})
	}
}

// TestWhatCannotBeRestored: the experiment continues with Apply, which decides, and the error is
// logged.
func TestWhatCannotBeRestored(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.unrestored = errors.New("eth0 stays down")
	_, err := Run(t.Context(), parse(t, experimentText("executions = 1\nreboot = \"none\"")), dir,
		config.RebootNone, s.system(fsys))
	must.Be(t, err == nil && s.events[0] == "restore leftover", err, "events", s.events)
	must.Contain(t, s.log.String(), "eth0 stays down", "log")
}

// TestSettle: with settle, startup bounds the wait; what the machine was busy with is in the
// record, and a reason only if it never was quiet.
func TestSettle(t *testing.T) {
	cfg := parse(t, strings.Replace(experimentText("executions = 1\nreboot = \"none\""),
		"startup = \"3m\"", "startup = \"3m\"\nsettle = \"10s\"", 1))
	for _, quiet := range []bool{true, false} {
		s, fsys := newSimulated(t), crashfs.New("/lab")
		s.settled = results.Settle{WaitedNS: 20e9, Quiet: quiet, Busy: []string{"stress (process 812) 99 %"}}
		s.oneBoot(cfg, fsys)
		must.Be(t, slices.Contains(s.events, "settle 10s of 3m0s") && !slices.Contains(s.events, "wait 3m0s"),
			"events", s.events)
		for r, err := range results.NewReader(fsys, dir+"/results").All() {
			must.Need(t, err == nil && r.Machine.Settle != nil &&
				r.Machine.Settle.Busy[0] == s.settled.Busy[0], r.Machine.Settle, err)
			named := len(r.Reasons) == 1 && strings.Contains(r.Reasons[0], "not quiet") &&
				strings.Contains(r.Reasons[0], "after 20s: stress (process 812)")
			must.Be(t, named != quiet && r.Outcome == results.Completed, "quiet", quiet, r.Outcome, "reasons",
				r.Reasons)
		}
	}
}
