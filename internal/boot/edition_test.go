package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

// Names of the programs of the two keys.
const (
	nbodyFile = "program.benchmark.nbody.default-c"
	fastaFile = "program.benchmark.fasta.default-c"
)

// program is a file with a content.
func program(content string) identity.Program {
	return identity.Program{SHA256: content, Files: map[string]string{"/lab/" + content[:1] + ".so": content}}
}

func (s *simulated) Read(ctx context.Context) (map[string]identity.Program, error) {
	return maps.Clone(s.programs), ctx.Err()
}

// fingerprint is that of a machine in which only the programs are of interest.
func (s *simulated) fingerprint() map[string]string {
	f := map[string]string{"kernel.release": "6.1"}
	for name, p := range s.programs {
		f[name] = p.SHA256
	}
	return f
}

// known checks that what is about to run is on the disk as the present edition, whatever happens.
func (s *simulated) known(k key.Key) {
	if s.disk == nil {
		return
	}
	editions, err := identity.LoadEditions(s.disk.Survivor(crashfs.Nothing), dir+"/editions.json")
	if err != nil {
		s.t.Errorf("%s runs before its edition is durable: %v", k, err)
		return
	}
	last := editions[len(editions)-1]
	for _, name := range identity.Names(k) {
		got := last.Programs[name].SHA256
		must.Be(s.t, got == s.programs[name].SHA256 || slices.Contains(last.Varies, name), k, "runs",
			s.programs[name].SHA256, "and the edition has", got)
	}
}

// ofItsEdition returns an error if a completed record was not measured with the programs of its
// edition.
func ofItsEdition(fsys durable.FS, r results.Record) error {
	editions, err := identity.LoadEditions(fsys, dir+"/editions.json")
	if err != nil {
		return err
	}
	for _, e := range editions {
		if e.Number != r.Edition {
			continue
		}
		for _, name := range identity.Names(r.Key) {
			if e.Programs[name].SHA256 != r.Machine.Fingerprint[name] {
				return fmt.Errorf("slot %d of edition %d has %s %q, and the edition %q", r.Slot,
					e.Number, name, r.Machine.Fingerprint[name], e.Programs[name].SHA256)
			}
		}
		return nil
	}
	return fmt.Errorf("slot %d has the edition %d, which is unknown", r.Slot, r.Edition)
}

// editionsOf returns the edition and the hash of the own file of each completed record.
func editionsOf(t *testing.T, fsys durable.FS) string {
	t.Helper()
	var b strings.Builder
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		own := identity.Names(r.Key)[2]
		fmt.Fprintf(&b, "%s %d %s\n", r.Key.Benchmark, r.Edition, r.Machine.Fingerprint[own])
	}
	return b.String()
}

// changesIn returns what a *ChangedPrograms says.
func changesIn(t *testing.T, err error) *ChangedPrograms {
	t.Helper()
	var changed *ChangedPrograms
	must.Need(t, errors.As(err, &changed), "error", err, "want one about changed programs")
	return changed
}

// TestAChangedProgramIsRefused: an execution in whose course the benchmark is edited is the last
// one. Nothing is begun with the other program until it is restored.
func TestAChangedProgramIsRefused(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 2\nreboot = \""+reboot+"\""))
			runs := 0
			s.outcome = func(j execution.Job, boot int) execution.Measured {
				if runs++; runs == 2 {
					s.programs[nbodyFile] = program("other")
				}
				return good(j, boot)
			}
			last := func() error {
				for range 10 {
					ending, err := s.start(cfg, fsys)
					if ending != Rebooting || err != nil {
						return err
					}
				}
				return errors.New("it goes on and on")
			}
			changed := changesIn(t, last())
			want := (identity.Change{Name: nbodyFile, File: "/lab/o.so", Was: "one", Is: "other"})
			must.Be(t, len(changed.Changes) == 1 && changed.Changes[0] == want, changed.Changes, "want", want)
			for _, want := range []string{"/lab/o.so has changed", "was SHA-256 one", "is  SHA-256 other",
				"--accept-changed /lab/x.toml"} {
				must.Contain(t, changed.Error(), want, "does not say")
			}
			must.Be(t, s.retired && s.applied == 0 && runs == 2, "unit disabled", s.retired, s.applied,
				"settings left", runs, "runs")
			told := s.told[len(s.told)-1]
			must.Be(t, strings.HasPrefix(told, "stopped\n/lab/o.so has changed"), "told", told)
			sched := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
			slot, err := sched.Slot(2)
			must.Be(t, err == nil && slot.Attempts == 0 && slot.Flag == schedule.Outstanding, "the next slot",
				slot, err)
			reboots := s.reboots
			changesIn(t, last()) // again: it does not restart the machine
			must.Equal(t, s.reboots, reboots, s.reboots-reboots, "more reboots")
			s.programs[nbodyFile] = program("one") // restored
			must.Do(t, last())
			must.Do(t, audit(fsys, cfg, nil))
		})
	}
}

// TestAcceptChanged: what a person accepts is a new edition, by the flag or by a request in the
// directory, which is withdrawn. A flag without a change makes none.
func TestAcceptChanged(t *testing.T) {
	const want = "nbody 1 one\nfasta 1 two\nnbody 2 other\nfasta 2 two\n"
	for _, how := range []string{"flag", "request"} {
		t.Run(how, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 2\nreboot = \"none\""))
			s.accept = true // nothing has changed
			runs := 0
			s.outcome = func(j execution.Job, boot int) execution.Measured {
				if runs++; runs == 2 {
					s.programs[nbodyFile] = program("other")
				}
				return good(j, boot)
			}
			_, err := s.start(cfg, fsys)
			changesIn(t, err)
			s.accept = how == "flag"
			d, err := directory.Open(fsys, dir)
			if err == nil && how == "request" {
				err = d.Ask(directory.Accept, "")
			}
			if err == nil {
				_, err = s.start(cfg, fsys)
			}
			if err == nil {
				err = audit(fsys, cfg, nil)
			}
			must.Do(t, err)
			must.Equal(t, editionsOf(t, fsys), want, "records")
			asked, err := d.Asked(directory.Accept)
			must.Be(t, !asked && err == nil, "the request is still there", err)
		})
	}
}

// TestEveryCutWithAnEdition cuts the power everywhere in an experiment whose program changes in the
// middle, and is accepted.
func TestEveryCutWithAnEdition(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		t.Run(reboot, func(t *testing.T) {
			t.Parallel()
			cfg := parse(t, experimentText("executions = 2\nattempts = 3\nreboot = \""+reboot+"\""))
			cutEverywhere(t, cfg, func(s *simulated) {
				s.accept = true
				if s.boot > 2 {
					s.programs[nbodyFile] = program("other")
				}
			})
		})
	}
}

// TestProgramsOfHooks: a hook may build what its key runs, and take it away again. What it builds
// must be the same each time.
func TestProgramsOfHooks(t *testing.T) {
	text := experimentText("executions = 2\nreboot = \"none\"") + "[hooks]\nbefore = [[\"true\"]]\n"
	text += "[vms.D]\nrunner = \"c\"\nvariants = [\"default-c\"]\n"
	s, fsys, cfg := simulate(t, text)
	s.programs = nil
	built := "one"
	s.beforeRun = func() { // both VMs have one path
		vm := program("vm of " + strings.Split(s.nextKey(fsys, cfg), ":")[1])
		s.programs = map[string]identity.Program{nbodyFile: program(built), fastaFile: program(built),
			"program.vm.C": vm, "program.vm.D": vm}
	}
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		defer func() { s.programs = nil }()
		return good(j, boot)
	}
	runs := 0
	s.during = func(ctx context.Context) {
		if runs++; runs == 6 {
			built = "other"
		}
	}
	_, err := s.start(cfg, fsys)
	changed := changesIn(t, err)
	must.Be(t, len(changed.Changes) == 1 && strings.Contains(changed.Next, "relink"), changed)
	must.Be(t, runs == 6 && s.applied == 0, runs, "runs", s.applied, "settings left")
	s.accept = true
	must.Get(s.start(cfg, fsys))(t)
	must.Equal(t, runs, 8, "runs")
}

// nextKey returns the key of the slot that runs.
func (s *simulated) nextKey(fsys durable.FS, cfg *config.Config) string {
	sched := must.Get(schedule.Open(fsys, dir+"/schedule", false))(s.t)
	slot := must.Get(sched.Current())(s.t)
	return slot.Key.String()
}

// TestAMissingProgram is the outcome of the executions that need it, and no change when it is there
// again; a file more or less beside one is a change.
func TestAMissingProgram(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 3\nreboot = \"none\""))
	delete(s.programs, fastaFile)
	runs := 0
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		switch runs++; runs {
		case 2:
			s.programs[fastaFile] = program("two")
		case 3:
			delete(s.programs, nbodyFile)
		case 4:
			s.programs[nbodyFile] = program("one")
		case 5:
			s.programs[nbodyFile+".files"] = program("more")
		}
		return good(j, boot)
	}
	_, err := s.start(cfg, fsys)
	changed := changesIn(t, err)
	want := (identity.Change{Name: nbodyFile + ".files", File: "/lab/m.so", Is: "more"})
	must.Be(t, runs == 5 && len(changed.Changes) == 1 && changed.Changes[0] == want, runs, "runs",
		changed.Changes)
	must.Contain(t, changed.Error(), "was missing\n    is  SHA-256 more")
}

// forget makes an experiment one of a version without editions.
func forget(t *testing.T, fsys *crashfs.FS, origin map[string]string) {
	t.Helper()
	must.Do(t, fsys.Remove(dir+"/editions.json"))
	if origin != nil {
		text := must.Get(json.Marshal(origin))(t)
		fsys.Put(dir+"/fingerprint.json", text)
	}
}

// TestWithoutEditions: an experiment of an earlier version goes on with the programs that it began
// with, and one that has lost its editions with those of its newest record.
func TestWithoutEditions(t *testing.T) {
	begun := map[string]string{nbodyFile: "one", fastaFile: "two", "program.libkrun": "old", "os": "Debian"}
	for name, test := range map[string]struct {
		origin map[string]string // fingerprint.json
		accept bool              // before
		now    string            // nbody
		ok     bool
		want   int // edition
	}{
		"the same":                       {begun, false, "one", true, 1},
		"changed":                        {begun, false, "other", false, 0},
		"without a fingerprint":          {nil, false, "one", true, 1},
		"changed, without a fingerprint": {nil, false, "other", false, 0},
		"the second edition":             {begun, true, "second", true, 2},
		"back to the first one":          {begun, true, "one", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, fsys, cfg := simulate(t, experimentText("executions = 2\nreboot = \"none\""))
			runs := 0
			s.outcome = func(j execution.Job, boot int) execution.Measured {
				runs++
				if test.accept && runs == 1 {
					s.programs[nbodyFile] = program("second")
				}
				return good(j, boot)
			}
			s.during = func(context.Context) {
				if runs == 2 {
					panic("the power fails")
				}
			}
			func() {
				defer func() { _ = recover() }()
				_, err := s.start(cfg, fsys)
				if test.accept {
					changesIn(t, err)
					s.accept = true
					_, _ = s.start(cfg, fsys)
				}
			}()
			fsys = fsys.Reboot(crashfs.Everything)
			forget(t, fsys, test.origin)
			next := newSimulated(t)
			next.boot = 2
			next.programs[nbodyFile] = program(test.now)
			_, err := next.start(cfg, fsys)
			must.Need(t, (err == nil) == test.ok, "error", err)
			if !test.ok {
				changesIn(t, err)
				return
			}
			got := editionsOf(t, fsys)
			must.Be(t, strings.HasSuffix(got, fmt.Sprintf("fasta %d two\n", test.want)), "records", got)
		})
	}
}

// TestAProgramThatIsAlwaysBuiltAnew: an experiment of an earlier version whose hook builds another
// file for each execution goes on.
func TestAProgramThatIsAlwaysBuiltAnew(t *testing.T) {
	cfg := parse(t, experimentText("executions = 8\nreboot = \"none\"")+"[hooks]\nbefore = [[\"true\"]]\n")
	for _, test := range []struct {
		earlier int // executions of each key by the earlier version
		ok      bool
	}{{5, true}, {4, false}} {
		s, fsys := newSimulated(t), crashfs.New("/lab")
		builds, runs := 0, 0
		s.beforeRun = func() {
			builds++
			s.programs[nbodyFile] = program(fmt.Sprint("build ", builds))
		}
		s.during = func(context.Context) {
			if runs++; runs == 2*test.earlier+1 {
				panic("the power fails")
			}
		}
		func() {
			defer func() { _ = recover() }()
			earlier := s.system(fsys)
			earlier.Programs = nil // it does not check them
			_, _ = Run(t.Context(), cfg, dir, config.RebootNone, earlier)
		}()
		fsys = fsys.Reboot(crashfs.Everything)
		fsys.Put(dir+"/fingerprint.json", []byte(`{"`+nbodyFile+`": "build 1", "`+fastaFile+`": "two"}`))
		s.boot++
		_, err := s.start(cfg, fsys)
		must.Equal(t, (err == nil), test.ok, "after", test.earlier, "executions", err)
	}
}

// TestAQuickRunWithAnotherProgram replaces the earlier one.
func TestAQuickRunWithAnotherProgram(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	cfg := quickConfig(t, "1")
	s.during = func(context.Context) { s.programs[fastaFile] = program("other") }
	_, err := s.start(cfg, fsys)
	must.Contain(t, changesIn(t, err).Error(), "start `krund run --quick")
	s.during = nil
	must.Get(s.start(cfg, fsys))(t)
	got, want := editionsOf(t, fsys), "nbody 1 one\nfasta 1 other\n"
	must.Equal(t, got, want, "records")
}

// TestChangedWhileItRan: an execution in whose course a program changed says so.
func TestChangedWhileItRan(t *testing.T) {
	s, fsys, cfg := simulate(t, experimentText("executions = 1\nreboot = \"none\""))
	s.during = func(context.Context) { s.programs[nbodyFile] = program("other") }
	_, err := s.start(cfg, fsys)
	changesIn(t, err)
	record, err := results.NewReader(fsys, dir+"/results").Load(results.Name{Slot: 0, Attempt: 1})
	must.Be(t, err == nil && len(record.Reasons) == 1 &&
		strings.HasPrefix(record.Reasons[0], "/lab/o.so changed while this execution ran"), record.Reasons,
		err)
}
