package boot

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/integrity"
	"krund/rig/must"
)

// larger is the experiment with another number of executions, a further benchmark and a comment.
func larger(t testing.TB, reboot string, executions int) *config.Config {
	t.Helper()
	text := experimentText(fmt.Sprintf("executions = %d\nreboot = %q", executions, reboot))
	return parse(t, "# larger\n"+text+"richards = { parameter = 3 }\n")
}

// measuredIn returns the executions of the completed records, and how many there are per edition.
func measuredIn(t testing.TB, fsys durable.FS) (executions map[string]int, editions map[int]int) {
	t.Helper()
	executions, editions = map[string]int{}, map[int]int{}
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		if r.Outcome == results.Completed {
			executions[fmt.Sprint(r.Key, " ", r.Pexec)]++
			editions[r.Edition]++
		}
	}
	return executions, editions
}

// TestAnExperimentGrows when its configuration plans more, begun or ended, also twice: it then has
// the executions that it would have had from the start, each once. Records say which edition they
// belong to, and the message how much it grows.
func TestAnExperimentGrows(t *testing.T) {
	for _, reboot := range []string{config.RebootNone, config.RebootHardware} {
		for _, stopped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stopped %t", reboot, stopped), func(t *testing.T) {
				small := parse(t, experimentText("executions = 3\nreboot = \""+reboot+"\""))
				s, fsys := newSimulated(t), crashfs.New("/lab")
				if stopped {
					s.outcome = func(j execution.Job, boot int) execution.Measured {
						if j.Number == 2 {
							d := must.Get(directory.Open(s.disk, dir))(t)
							must.Do(t, d.Ask(directory.Stop, ""))
						}
						return good(j, boot)
					}
				}
				run := func(cfg *config.Config) *crashfs.FS {
					last := must.Get(s.lifetime(cfg, fsys, 30, rebooted))(t)
					s.outcome = good
					return last
				}
				fsys = run(small)
				before, _ := measuredIn(t, fsys)
				must.Equal(t, len(before) < 6, stopped, "executions before")
				large := larger(t, reboot, 5)
				fsys = run(large)
				must.Contain(t, s.log.String(), "the experiment grows by 9 slots, from 6 to 15: "+
					"experiment.executions was 3 and is 5 (line 5); benchmarks.richards is new")
				larger := larger(t, reboot, 7)
				fsys = run(larger)
				must.Do(t, audit(fsys, larger, nil))
				must.Equal(t, problemsOf(t, fsys), "", "problems")
				fresh := crashfs.New("/lab")
				fresh = must.Get(newSimulated(t).lifetime(larger, fresh, 60, rebooted))(t)
				got, editions := measuredIn(t, fsys)
				want, _ := measuredIn(t, fresh)
				must.Be(t, maps.Equal(got, want), got, "planned so from the start", want)
				must.Be(t, len(editions) == 3 && editions[1] == len(before) && editions[3] == 6, editions)
				stored := must.Get(durable.ReadFile(fsys, dir+"/config.toml"))(t)
				must.Equal(t, string(stored), larger.Text, "the copy of the configuration")
				_, err := s.start(larger, fsys)
				must.Do(t, err, "again")
				_, err = s.start(large, fsys)
				must.Refuse(t, err, "executions was 7 and is 5", "a smaller one")
			})
		}
	}
}

// TestWhatDoesNotGrow: a configuration that also changes what is measured is refused, and nothing
// of it is stored.
func TestWhatDoesNotGrow(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	must.Get(s.start(parse(t, experimentText("executions = 2\nreboot = \"none\"")), fsys))(t)
	state := fsys.State()
	text := strings.Replace(experimentText("executions = 4\nreboot = \"none\""), "parameter = 1",
		"parameter = 5", 1)
	_, err := s.start(parse(t, text), fsys)
	must.Refuse(t, err, "benchmarks.nbody.parameter was 1 and is 5", "another parameter")
	must.Be(t, !strings.Contains(err.Error(), "executions was"), err)
	must.Equal(t, fsys.State(), state, "the disk")
}

// TestARefusedGrowthChangesNothing: when a program has changed, an experiment does not grow either;
// when that is accepted, it does, and everything that reads it goes on, also when it grows again.
func TestARefusedGrowthChangesNothing(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	must.Get(s.start(parse(t, experimentText("executions = 2\nreboot = \"none\"")), fsys))(t)
	state := fsys.State()
	s.programs[nbodyFile] = program("other")
	large := larger(t, config.RebootNone, 3)
	_, err := s.start(large, fsys)
	changesIn(t, err)
	must.Equal(t, fsys.State(), state, "the disk")
	s.accept = true
	must.Get(s.start(large, fsys))(t)
	s.accept = false
	must.Equal(t, problemsOf(t, fsys), "", "problems")
	larger := larger(t, config.RebootNone, 4)
	must.Get(s.start(larger, fsys))(t)
	s.programs[nbodyFile], s.accept = program("third"), true
	must.Get(s.start(parse(t, strings.Replace(larger.Text, "executions = 4", "executions = 5", 1)), fsys))(t)
	s.accept = false
	last := parse(t, strings.Replace(larger.Text, "executions = 4", "executions = 6", 1))
	must.Get(s.start(last, fsys))(t)
	must.Do(t, audit(fsys, last, nil))
	must.Equal(t, problemsOf(t, fsys), "", "problems")
	_, editions := measuredIn(t, fsys)
	// 1 begun, 2 accepted, 3 and 4 grown, 5 accepted, 6 and 7 grown
	want := map[int]int{1: 4, 3: 5, 4: 3, 6: 3, 7: 3}
	must.Be(t, maps.Equal(editions, want), editions, "want", want)
}

// TestAKeyIsAddedBeside an old one, in its directory: its entry is no change of the old one.
func TestAKeyIsAddedBeside(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	must.Get(s.start(parse(t, experimentText("executions = 2\nreboot = \"none\"")), fsys))(t)
	s.programs[nbodyFile+".files"] = program("richards")
	large := larger(t, config.RebootNone, 3)
	_, err := s.start(large, fsys)
	must.Need(t, len(changesIn(t, err).Changes) == 1, err) // it is no entry
	s.programs["program.benchmark.richards.default-c"] = program("richards")
	must.Get(s.start(large, fsys))(t)
	must.Do(t, audit(fsys, large, nil))
	_, editions := measuredIn(t, fsys)
	must.Be(t, maps.Equal(editions, map[int]int{1: 4, 2: 5}), editions)
}

// TestEveryCutWhileItGrows cuts the power in each operation of a boot in which an experiment grows:
// when it has begun, and when it has ended. The next boot finds either configuration: that of the
// file, which is larger still. Nothing that was completed is lost, and nothing is measured twice.
func TestEveryCutWhileItGrows(t *testing.T) {
	must.Long(t)
	for name, begun := range map[string]int{"begun": 2, "ended": 4} {
		for _, next := range []int{3, 4} {
			t.Run(fmt.Sprintf("%s, %d executions", name, next), func(t *testing.T) {
				t.Parallel()
				ends := map[string]*crashfs.FS{} // by the disk after the cut
				audited := map[string]bool{}     // of these, with the records that had to be there
				start := crashfs.New("/lab")
				s := newSimulated(t)
				small := parse(t, experimentText("executions = 2\nreboot = \"none\""))
				runs := 0
				s.beforeRun = func() {
					if runs++; runs > begun {
						panic("the power fails")
					}
				}
				func() {
					defer func() { _ = recover() }()
					_, _ = s.start(small, start)
				}()
				start = start.Reboot(crashfs.Everything)
				cuts := 0
				for op := 1; ; op++ {
					boot, disk := newSimulated(t), start.Survivor(crashfs.Everything)
					boot.boot = 2
					disk.CrashAt(op)
					_, err := boot.start(larger(t, config.RebootNone, 3), disk)
					if !disk.IsCut() {
						must.Do(t, err)
						break
					}
					survived := records(disk)
					names := fmt.Sprint(slices.Sorted(maps.Keys(survived)))
					for _, policy := range crashfs.Policies(*seed) {
						cuts++
						after, last := newSimulated(t), disk.Survivor(policy)
						after.boot = 3
						state := last.State()
						if audited[state+names] {
							continue
						}
						audited[state+names] = true
						cfg := larger(t, config.RebootNone, next)
						if ends[state] == nil {
							onlyOfACut(t, small, last)
							_, err = after.start(cfg, last)
							ends[state] = last
						} else {
							err, last = nil, ends[state]
						}
						if err = errors.Join(err, audit(last, cfg, maps.Clone(survived))); err != nil {
							t.Fatalf("cut in operation %d, %s survives: %v", op, policy, err)
						}
						got, _ := measuredIn(t, last)
						must.Equal(t, slices.Max(slices.Collect(maps.Values(got))), 1, "cut in operation", op)
					}
				}
				must.Be(t, cuts >= 200, cuts, "cuts")
				t.Log(cuts, "cuts,", len(ends), "different disks after them")
			})
		}
	}
}

// onlyOfACut checks that `krunctl check` finds nothing after a cut but what the cut explains.
func onlyOfACut(t *testing.T, cfg *config.Config, fsys *crashfs.FS) {
	t.Helper()
	for problem := range strings.Lines(problemsOf(t, fsys)) {
		code, _, _ := strings.Cut(problem, " ")
		if !slices.Contains([]integrity.Code{integrity.Leftover, integrity.HeaderDamaged,
			integrity.SlotDamaged}, integrity.Code(code)) {
			t.Error(problem)
		}
	}
}

// TestADamagedSlotOfWhatGrew is rebuilt from the plan of both stages.
func TestADamagedSlotOfWhatGrew(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	must.Get(s.start(parse(t, experimentText("executions = 2\nreboot = \"none\"")), fsys))(t)
	large := larger(t, config.RebootNone, 3)
	runs := 0
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		if runs++; runs == 1 {
			f := must.Get(fsys.OpenFile(dir+"/schedule", os.O_RDWR, 0))(t)
			size := must.Get(f.Stat())(t).Size()
			_, err := f.WriteAt([]byte("damaged"), size-100)
			must.Do(t, errors.Join(err, f.Close()))
		}
		return good(j, boot)
	}
	must.Get(s.start(large, fsys))(t)
	must.Do(t, audit(fsys, large, nil))
	must.Contain(t, s.log.String(), "has been rebuilt from the results")
}

// TestATornGrowth: a schedule and editions of different times are refused.
func TestATornGrowth(t *testing.T) {
	s, fsys := newSimulated(t), crashfs.New("/lab")
	must.Get(s.start(parse(t, experimentText("executions = 2\nreboot = \"none\"")), fsys))(t)
	large := larger(t, config.RebootNone, 3)
	must.Get(s.start(large, fsys))(t)
	path := dir + "/editions.json"
	editions := must.Get(identity.LoadEditions(fsys, path))(t)
	editions[1].Config = strings.Replace(editions[1].Config, "larger", "other", 1)
	must.Do(t, identity.StoreEditions(fsys, path, editions))
	_, err := s.start(large, fsys)
	must.Refuse(t, err, "are not of the same experiment", "another edition")
}

// quickConfig is what `krund run --quick` makes of a configuration.
func quickConfig(t *testing.T, parameter string) *config.Config {
	t.Helper()
	text := strings.Replace(experimentText("executions = 9\nreboot = \"none\""), "parameter = 1",
		"parameter = "+parameter, 1)
	return parse(t, text+"\n\n# krund run --quick\n[machines.\"?*\".experiment]\nname = \"x-quick\"\n"+
		"executions = 1\n")
}

// TestQuickIsReplaced: a quick run that has ended, or that another configuration started, is
// replaced by the next one; one that was interrupted continues. The power may fail in each
// operation meanwhile.
func TestQuickIsReplaced(t *testing.T) {
	first := crashfs.New("/lab")
	run := func(cfg *config.Config, fsys *crashfs.FS, boot int) (*simulated, error) {
		s := newSimulated(t)
		s.boot = boot
		_, err := s.start(cfg, fsys)
		return s, err
	}
	must.Get(run(quickConfig(t, "1"), first, 1))(t)
	for name, cfg := range map[string]*config.Config{
		"the same": quickConfig(t, "1"), "another": quickConfig(t, "3"),
	} {
		for op := 1; ; op++ {
			fsys := first.Survivor(crashfs.Nothing)
			fsys.CrashAt(op)
			s, err := run(cfg, fsys, 2)
			cut := fsys.IsCut()
			fsys = fsys.Reboot(crashfs.Everything)
			if cut {
				s, err = run(cfg, fsys, 3)
			}
			must.Need(t, err == nil && audit(fsys, cfg, nil) == nil, name, "cut in operation", op, err,
				audit(fsys, cfg, nil))
			for r, err := range results.NewReader(fsys, dir+"/results").All() {
				must.Need(t, err == nil && r.BootID != "boot-1", name, "cut in operation", op, "a record of",
					r.BootID, err)
			}
			if !cut {
				must.Contain(t, s.log.String(), "the results of the earlier quick run are removed", name,
					"the log does not say it")
				break
			}
		}
	}
}

// TestOnlyQuickIsReplaced: the directory of a real experiment is refused as ever.
func TestOnlyQuickIsReplaced(t *testing.T) {
	fsys := crashfs.New("/lab")
	s := newSimulated(t)
	real := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	must.Get(s.start(real, fsys))(t)
	before := fsys.State()
	must.Refused(newSimulated(t).start(quickConfig(t, "1"), fsys))(t,
		"was started with another configuration", "error")
	must.Equal(t, before, fsys.State(), "something was changed")
}
