package boot

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// ways are methods that refuse with an error or accept with nil, and record their calls.
func ways(asked *[]string, answers ...error) []RebootMethod {
	var list []RebootMethod
	for i, answer := range answers {
		name := string(rune('a' + i))
		list = append(list, RebootMethod{name, func(context.Context) error {
			*asked = append(*asked, name)
			return answer
		}})
	}
	return list
}

func TestTheFirstWayThatWorksIsTaken(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name    string
		answers []error
		asked   []string
		fails   bool
	}{
		{"the first", []error{nil, nil}, []string{"a"}, false},
		{"the second", []error{refused, nil, nil}, []string{"a", "b"}, false},
		{"none", []error{refused, refused}, []string{"a", "b"}, true},
	} {
		var asked []string
		err := Rebooter{Methods: ways(&asked, c.answers...),
			Log: slog.New(slog.DiscardHandler)}.Reboot(t.Context(), config.RebootHardware)
		must.Be(t, slices.Equal(asked, c.asked) && (err != nil) == c.fails, c.name, "asked", asked, "error",
			err, c.asked)
		must.Be(t, !c.fails || errors.Is(err, refused) && strings.Contains(err.Error(), "by hand"), c.name,
			"error", err, "lacks the reason or the next step")
	}
}

// The last method forces the restart, which must not happen if krund is stopped while it waits for
// the first.
func TestNoFurtherMethodAfterAStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	all := append([]RebootMethod{{"slow", func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	}}}, ways(&asked, nil)...)
	err := Rebooter{Methods: all, Log: slog.New(slog.DiscardHandler)}.Reboot(ctx, config.RebootHardware)
	must.Be(t, errors.Is(err, context.Canceled) && asked == nil, "error", err, "asked", asked,
		"want no further method")
}

// TestInterruptionAtTheEnd: an interruption that arrives when nothing runs any more does not keep
// the next boots from being made ordinary.
func TestInterruptionAtTheEnd(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	for name, want := range map[string]Ending{"finished": Finished, "asked to stop": Stopped} {
		t.Run(name, func(t *testing.T) {
			s, fsys := newSimulated(t), crashfs.New("/lab")
			if want == Finished {
				s.oneBoot(cfg, fsys)
			} else {
				s.during = func(context.Context) { ask(t, fsys, directory.Stop) }
				s.oneBoot(cfg, fsys)
				ask(t, fsys, directory.Stop)
			}
			s.retired = false
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			ending, err := Run(ctx, cfg, dir, config.RebootNone, s.system(fsys))
			must.Be(t, ending == want && err == nil && s.retired, "ending", ending, err, "retired", s.retired,
				"want", want, "true")
		})
	}
}

// TestInterruptedRestart: an interruption that prevents the restart is no failure, unless the
// machine could not be restored.
func TestInterruptedRestart(t *testing.T) {
	cfg := parse(t, hardware(""))
	for _, stuck := range []error{nil, errors.New("eth0 stays down")} {
		s, fsys := newSimulated(t), crashfs.New("/lab")
		s.oneBoot(cfg, fsys)
		s.boot++
		ctx, cancel := context.WithCancel(t.Context())
		s.refuses = func() error { cancel(); return ctx.Err() }
		s.stuck = stuck
		ending, err := Run(ctx, cfg, dir, config.RebootHardware, s.system(fsys))
		must.Be(t, errors.Is(err, stuck) && (stuck != nil || ending == Interrupted) && s.applied == 0 &&
			s.retired == (stuck != nil), "stuck", stuck, "ending", ending, err, s.applied,
			"settings left, retired", s.retired)
	}
}

// TestStopTime: the init systems give krund the time that it may need to end in order.
func TestStopTime(t *testing.T) {
	const kill = 10 * time.Second // of the benchmark, in internal/execution/child
	for file, pattern := range map[string]string{
		"../../systemd/krund@.service": `(?m)^TimeoutStopSec=(\d+)$`,
		"../../openbsd/krund.rc":       `(?m)^daemon_timeout=(\d+)$`,
	} {
		text := must.Get(os.ReadFile(file))(t)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s: no %s", file, pattern)
			continue
		}
		seconds, err := strconv.Atoi(string(found[1]))
		if allowed := time.Duration(seconds) * time.Second; err != nil || allowed < kill+cleanupTime {
			t.Errorf("%s: %v, and krund may need %v", file, allowed, kill+cleanupTime)
		}
	}
}

// TestLadder: the kinds of restart that are asked for, and what the records say. The simulated
// machine starts the way it was asked to, except once.
func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name, text string
		fails      int // the restart that ends as one of the hardware
		asked      []string
		recorded   []string
	}{
		{"kexec", "executions = 2\nreboot = \"kexec\"", 0, []string{"kexec", "kexec", "kexec", "kexec"},
			[]string{"kexec", "kexec", "kexec", "kexec"}},
		{"every second one", "executions = 2\nreboot = \"kexec\"\nhardware_every = 2", 0,
			[]string{"kexec", "hardware", "kexec", "hardware"},
			[]string{"kexec", "hardware", "kexec", "hardware"}},
		{"a power cut meanwhile", "executions = 2\nreboot = \"soft\"", 2,
			[]string{"soft", "soft", "soft", "soft"}, []string{"soft", "hardware", "soft", "soft"}},
		{"hardware", "executions = 2\nreboot = \"hardware\"", 0,
			[]string{"hardware", "hardware", "hardware", "hardware"},
			[]string{"hardware", "hardware", "hardware", "hardware"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, fsys := newSimulated(t), crashfs.New("/lab")
			s.fails = c.fails
			cfg := parse(t, experimentText(c.text))
			fsys = must.Get(s.lifetime(cfg, fsys, 20, func(f *crashfs.FS) *crashfs.FS { return f }))(t)
			must.EqualList(t, s.kinds, c.asked, "asked for")
			reader := results.NewReader(fsys, dir+"/results")
			listing := must.Get(reader.List())(t)
			var recorded []string
			for loaded := range results.Scan(reader, listing.Records) {
				must.Need(t, loaded.Err == nil, loaded.Err)
				recorded = append(recorded, loaded.Record.Reboot)
			}
			must.EqualList(t, recorded, c.recorded, "records")
		})
	}
}

// TestFasterRestartsFallBack: when the faster kind is refused, the hardware restarts.
func TestFasterRestartsFallBack(t *testing.T) {
	var asked []string
	r := Rebooter{Methods: ways(&asked, nil), Log: slog.New(slog.DiscardHandler),
		Faster: map[string]RebootMethod{config.RebootKexec: {"kexec", func(context.Context) error {
			asked = append(asked, "kexec")
			return errors.New("locked down")
		}}}}
	for _, c := range []struct {
		kind string
		want []string
	}{
		{config.RebootKexec, []string{"kexec", "a"}},
		{config.RebootSoft, []string{"a"}},
		{config.RebootHardware, []string{"a"}},
	} {
		asked = nil
		err := r.Reboot(t.Context(), c.kind)
		must.Be(t, err == nil && slices.Equal(asked, c.want), c.kind, "asked", asked, err, "want", c.want)
	}
}

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
	return must.Get(f.Asked(r))(t)
}

func TestHeldBootsTouchNothing(t *testing.T) {
	s, fsys, cfg := simulate(t, hardware(""))
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

func TestStopLetsTheExecutionFinish(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 2\nreboot = \""+reboot+"\""))
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
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nreboot = \"none\""))
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
	s, fsys, cfg := simulate(t, hardware(""))
	sys := s.system(fsys)
	broken := errors.New("input/output error")
	sys.Held = func() (string, error) { return "", broken }
	_, err := Run(t.Context(), cfg, dir, config.RebootHardware, sys)
	must.Be(t, errors.Is(err, broken) && len(s.events) == 0 && !strings.Contains(s.log.String(), "started"),
		"error", err, "events", s.events)
}
