package lifecycle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/stop"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

const (
	stopExecutions = 6
	stopSlots      = 4 * stopExecutions
	stopCuts       = 20 // in each experiment
)

// stopping is an experiment of four keys, which [stop] usually finishes early.
var stopping = strings.NewReplacer("executions = 4", fmt.Sprint("executions = ", stopExecutions),
	"nbody = { parameter = 100 }", "nbody = { parameter = 100 }\nfannkuch_redux = { parameter = 5 }\n"+
		"spectralnorm = { parameter = 10 }\nfasta = { parameter = 100 }",
	"iterations = 2", "iterations = 10").
	Replace(short) + `
[stop]
rules = ["halfwidth"]
halfwidth = 0.6
alpha = 0.5
`

// TestStopWithCuts cuts the power in experiments with [stop], at random moments and before steps of
// the part of a boot that stores the record, asks krunctl and skips slots, and lets them end. No
// record is lost or counted twice, no decision changes after a cut, and the decisions that krund
// has followed are those that follow from the records. KRUND_RIG_CUTS is the total number of cuts.
func TestStopWithCuts(t *testing.T) {
	rig.Long(t, "many executions take minutes; make rig runs them")
	rig.FindImage(t)
	program := rig.Build(t, "krund", "-tags", "rigcut")
	cuts, made, experiments, figures := rig.Cuts(t, stopCuts), 0, 0, stopFigures{}
	random := rig.Rand(t)
	for ; made < cuts && !t.Failed(); experiments++ {
		t.Run(fmt.Sprint("experiment ", experiments+1), func(t *testing.T) {
			var files rig.Payload
			files.Experiment(name, stopping)
			files.Enable(name)
			must.Do(t, files.Copy(rig.InstalledKrund, program))
			s := &stopExperiment{t: t, stopFigures: &figures, m: rig.Krund(t, rig.Options{Payload: &files,
				Kernel: rig.Tickless, Time: 2 * stopSlots * 5 * time.Second})}
			s.m.PowerOn()
			s.m.WaitOff() // the first boot makes the schedule
			s.trace()
			for i := range min(cuts-made, stopCuts) {
				if i%5 == 4 {
					s.m.RunAndCut(rig.Scaled(moment(random)))
				} else if !s.cutBefore(random) {
					break
				}
				made++
				s.look()
			}
			s.end()
		})
	}
	t.Logf("%d power cuts in %d experiments, %d of them before a step: %+v", made, experiments, figures.exact,
		figures)
}

// stopFigures are counted over all experiments.
type stopFigures struct {
	exact              int // cuts before a step
	completed, skipped int // slots at the end
	decisions          int // that finished a key
	survived           int // decisions found again after later cuts
}

// stopExperiment is an experiment with [stop] and power cuts.
type stopExperiment struct {
	*stopFigures
	t       *testing.T
	m       *rig.Machine
	earlier *rig.Experiment // state of the disk after the last cut; nil before the first
	decided stop.Decisions
	record  int // step of a boot that creates the record's file
	last    int // the last step of that boot
}

// trace counts the steps of a boot with an execution.
func (s *stopExperiment) trace() {
	s.m.SetKernelArguments(rig.Tickless + " rig.cut=trace")
	defer s.m.SetKernelArguments(rig.Tickless)
	s.m.PowerOn()
	s.m.WaitOff()
	s.last = stepsOf(s.m.Console(), s.m.Starts())
	for _, line := range s.m.ConsoleOfThisStart() {
		if s.record == 0 && strings.Contains(line.Text, " create "+directory+"/results/") {
			_, _ = fmt.Sscanf(line.Text, "RIG-STEP %d", &s.record) // 0 is checked below
		}
	}
	must.Need(s.t, s.record != 0 && s.last >= s.record, "the record's step is", s.record, "of", s.last)
	s.t.Logf("a boot stores its record in step %d of %d", s.record, s.last)
}

// cutBefore cuts the power before one of the steps from the record on, of the next boot, or if it
// has not so many of the one after it: a boot that recovers from a cut has more. It returns false
// if the experiment ended before.
func (s *stopExperiment) cutBefore(random *rand.Rand) bool {
	defer s.m.SetKernelArguments(rig.Tickless)
	const recovering = 25 // steps more
	step := s.record + random.IntN(s.last+recovering-s.record)
	for range stopSlots {
		s.m.SetKernelArguments(rig.Tickless + " rig.cut=" + strconv.Itoa(step))
		s.m.PowerOn()
		step = s.record + random.IntN(s.last-s.record)
		switch off, ended := s.m.WaitOffOrEnded(rig.UnitOf(name)); {
		case ended:
			s.m.WaitUp()
			s.m.Shutdown()
			return false
		case off.Reason == rig.OffPort:
			for _, line := range s.m.ConsoleOfThisStart() {
				if strings.HasPrefix(line.Text, "RIG-STEP ") {
					s.t.Log(line.Text)
				}
			}
			s.exact++
			return true
		}
	}
	return false
}

// look reads the experiment from the disk of the machine, which is off, and compares it with the
// state after the cut before.
func (s *stopExperiment) look() {
	s.t.Helper()
	disk := s.m.Disk()
	e := must.Get(rig.ReadExperiment(disk.Dump(directory)))(s.t)
	for _, h := range e.Harms(s.earlier) {
		s.t.Error(h)
	}
	d, err := stop.Load(durable.OS(), filepath.Join(e.Dir, "decisions.json"))
	must.Be(s.t, err == nil && d.Failed == "", "decisions", err, d.Failed)
	for i, was := range s.decided.Groups {
		must.Be(s.t, i < len(d.Groups) && reflect.DeepEqual(d.Groups[i], was), "the decision about", was.Keys,
			"has changed after a power cut")
		s.survived++
	}
	s.earlier, s.decided = e, d
	s.decideAgain()
	s.t.Logf("%d records, %d slots completed, %d skipped, %d keys finished", len(e.Records),
		e.Count(schedule.Completed), e.Count(schedule.Skipped), len(d.Groups))
}

// decideAgain decides from the records that are on the disk, and compares that with what krund has
// followed.
func (s *stopExperiment) decideAgain() {
	s.t.Helper()
	r := experiment.Reader{FS: durable.OS(), Workers: 1,
		LeaveOut: func(source, why string) { s.t.Errorf("%s: %s", source, why) }}
	again := must.Get(r.Decide(s.earlier.Dir, "", ""))(s.t)
	for _, g := range again.Groups {
		was := decisionOf(s.decided, g.Keys[0])
		switch {
		case was == nil && g.Finish && s.earlier.Finished():
			s.t.Errorf("%s should have been finished: %s", g.Keys[0], g.Reason)
		case was != nil && !same(*was, g):
			s.t.Errorf("krund has followed\n%+v\nand the records lead to\n%+v", *was, g)
		}
	}
}

// decisionOf returns the decision about a key; nil if it was not finished.
func decisionOf(d stop.Decisions, key string) *stop.Group {
	i := slices.IndexFunc(d.Groups, func(g stop.Group) bool { return slices.Contains(g.Keys, key) })
	if i < 0 {
		return nil
	}
	return &d.Groups[i]
}

// same reports whether two decisions are the same. Their numbers may differ in the last digits:
// this processor rounds a logarithm otherwise than the emulated one.
func same(a, b stop.Group) bool {
	const relative = 1e-12
	if len(a.Questions) != len(b.Questions) {
		return false
	}
	b.Questions = slices.Clone(b.Questions)
	for i := range b.Questions {
		x, y := &a.Questions[i], &b.Questions[i]
		for _, n := range [][2]**float64{{&x.Estimate, &y.Estimate}, {&x.Low, &y.Low}, {&x.High, &y.High},
			{&x.LogE, &y.LogE}} {
			was, is := *n[0], *n[1]
			if was != nil && is != nil && math.Abs(*was-*is) <= relative*math.Abs(*is) {
				*n[1] = was
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// end lets the experiment run to its end. Each key must have as many completed executions as its
// decision says, and all other slots must be skipped.
func (s *stopExperiment) end() {
	if enabled(s.t, s.m) {
		ended := s.m.RunToEnd(rig.UnitOf(name), 2*stopSlots)
		must.Equal(s.t, ended.Result, "success", "krund ended with", ended)
		s.m.WaitUp()
		s.m.Shutdown()
	}
	s.look()
	e := s.earlier
	completed := map[string]int{}
	for _, slot := range e.Slots {
		switch slot.Flag {
		case schedule.Completed:
			completed[slot.Key.String()]++
			s.completed++
		case schedule.Skipped:
			s.skipped++
		default:
			s.t.Errorf("slot %d ended as %s", slot.Index, slot.Flag)
		}
	}
	for key, n := range completed {
		want := stopExecutions
		if g := decisionOf(s.decided, key); g != nil {
			want = g.Executions
			s.decisions++
			s.t.Logf("%s: %d executions: %s", key, g.Executions, g.Reason)
		}
		must.Equal(s.t, n, want, key, "slots completed")
	}
}
