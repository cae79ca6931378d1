package boot

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// ask leaves a request in the experiment's directory, as a person would.
func ask(t *testing.T, fsys *crashfs.FS, r directory.Request) directory.Directory {
	t.Helper()
	f, err := directory.Create(fsys, dir)
	if err == nil {
		err = f.Ask(r, "test")
	}
	must.Do(t, err)
	return f
}

func asked(t *testing.T, f directory.Directory, r directory.Request) bool {
	t.Helper()
	there := must.Get(f.Asked(r))(t)
	return there
}

func TestHeldBootsTouchNothing(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.oneBoot(cfg, fsys)
	f := ask(t, fsys, directory.Hold)
	before, reboots, ops := fsys.Files(), s.reboots, fsys.Ops()
	s.events = nil
	for range 3 {
		s.boot++
		ending := s.oneBoot(cfg, fsys)
		must.Need(t, ending == Held, "ending", ending, "want Held")
	}
	must.Be(t, len(s.events) == 0 && !s.retired && s.reboots == reboots && fsys.Ops() == ops &&
		len(fsys.Files()) == len(before), "events", s.events, "retired", s.retired, s.reboots-reboots,
		"reboots", fsys.Ops()-ops, "operations on the disk")
	must.Get(f.Withdraw(directory.Hold))(t)
	s.boot++
	fsys = must.Get(s.lifetime(cfg, fsys, 10, rebooted))(t)
	must.Do(t, audit(fsys, cfg, nil))
}

func TestHeldByTheMachine(t *testing.T) {
	for name, text := range map[string]string{"etc/krund/hold": "",
		"proc/cmdline": "root=/dev/vda1 krund.hold quiet\n"} {
		t.Run(name, func(t *testing.T) {
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.root = t.TempDir()
			must.Write(t, filepath.Join(s.root, name), text)
			ending := s.oneBoot(parse(t, hardware("")), fsys)
			must.Be(t, ending == Held && len(s.events) == 0 && len(fsys.Files()) == 0, "ending", ending,
				"events", s.events, "files", len(fsys.Files()), "want Held and nothing touched")
		})
	}
}

func TestHoldDuringAnExecutionLetsTheNextBootBeOrdinary(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.oneBoot(cfg, fsys)
	s.boot++
	s.during = func(context.Context) { ask(t, fsys, directory.Hold) }
	must.Equal(t, s.oneBoot(cfg, fsys), Rebooting, "ending",
		"want Rebooting: the running execution is not affected")
	s.boot++
	ending := s.oneBoot(cfg, fsys)
	must.Be(t, ending == Held && !s.retired, "ending", ending, "retired", s.retired, "want Held, false")
}

func TestStopLetsTheExecutionFinish(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			cfg := parse(t, experimentText("executions = 2\nreboot = \""+reboot+"\""))
			s, fsys := newSimulated(t), crashfs.New("/lab")
			if reboot == config.RebootHardware {
				s.oneBoot(cfg, fsys)
				s.boot++
			}
			s.reboots = 0
			s.during = func(context.Context) { ask(t, fsys, directory.Stop) }
			ending := s.oneBoot(cfg, fsys)
			must.Need(t, ending == Stopped, "ending", ending, "want Stopped")
			f, err := directory.Open(fsys, dir)
			must.Do(t, err)
			if n := len(records(fsys)); n != 1 || !s.retired || s.reboots != 0 || s.applied != 0 ||
				asked(t, f, directory.Stop) {
				t.Errorf("%d records, retired %t, %d reboots, %d settings left, still asked %t", n, s.retired,
					s.reboots, s.applied, asked(t, f, directory.Stop))
			}
			must.Be(t, slices.Contains(s.mails, "stopped"), "no notification", s.mails)
			s.during = nil // and the next start continues
			s.boot++
			fsys, err = s.lifetime(cfg, fsys, 10, rebooted)
			if err == nil {
				err = audit(fsys, cfg, nil)
			}
			must.Do(t, err)
		})
	}
}

func TestStopDuringTheLastExecution(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.during = func(context.Context) { ask(t, fsys, directory.Stop) }
	s.outcome = func(j execution.Job, boot int) execution.Measured { return good(j, boot) }
	if ending := s.oneBoot(cfg, fsys); ending != Stopped { // of two executions the first one
		t.Fatalf("ending %d, want Stopped", ending)
	}
	must.Equal(t, s.oneBoot(cfg, fsys), Finished, "ending", "want Finished: there was nothing left to stop")
	_, there := fsys.Files()[dir+"/stop"]
	must.Be(t, !there, "the request is still there")
}

// TestStopSurvivesAPowerCut cuts the power in each operation of a boot that is asked to stop: it
// stops once, and no reboot follows.
func TestStopSurvivesAPowerCut(t *testing.T) {
	cfg := parse(t, hardware(""))
	cuts := 0
	for op := 1; ; op++ {
		s, fsys := newSimulated(t), crashfs.New("/lab")
		s.oneBoot(cfg, fsys)
		ask(t, fsys, directory.Stop)
		fsys = fsys.Reboot(crashfs.Nothing)
		s.boot, s.reboots = 2, 0
		fsys.CrashAt(op)
		ending, err := Run(t.Context(), cfg, dir, config.RebootHardware, s.system(fsys))
		if !fsys.IsCut() {
			must.Be(t, ending == Stopped && err == nil, "without a cut: ending", ending, err)
			break
		}
		cuts++
		retired := s.retired
		fsys = fsys.Reboot(crashfs.Nothing)
		if retired { // the unit is disabled: krund is not started by this boot
			continue
		}
		s.boot++
		ending = s.oneBoot(cfg, fsys)
		must.Be(t, ending == Stopped && s.retired && s.reboots == 0, "cut in operation", op, "ending", ending,
			"retired", s.retired, s.reboots, "reboots; want Stopped, true, 0")
	}
	must.Be(t, cuts != 0, "no power cut")
}

func TestARequestThatCannotBeLookedForStops(t *testing.T) {
	cfg := parse(t, hardware(""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	sys := s.system(fsys)
	broken := errors.New("input/output error")
	sys.Held = func() (string, error) { return "", broken }
	_, err := Run(t.Context(), cfg, dir, config.RebootHardware, sys)
	must.Be(t, errors.Is(err, broken) && len(s.events) == 0 && !strings.Contains(s.log.String(), "started"),
		"error", err, "events", s.events)
}
