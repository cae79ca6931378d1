package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// TestPowerCuts cuts the power twice in each of many short experiments, at random moments or
// exactly before one of krund's durable steps (a write, a sync, a rename ...), checks the disk
// after each cut, and lets the experiment end. KRUND_RIG_CUTS is the total number of cuts; from 150
// on it includes every step of the three kinds of boot. The machines run in parallel, one per
// processor (-parallel).
//
// In short mode it is one experiment with three cuts.
func TestPowerCuts(t *testing.T) {
	rig.FindImage(t)
	s := &cutSuite{campaign: rig.NewCampaign(t), program: rig.Build(t, "krund", "-tags", "rigcut")}
	t.Cleanup(func() { s.campaign.Log(t) }) // after the experiments, which run in parallel
	random := rig.Rand(t)
	if testing.Short() {
		s.launch(t, 1, []cut{{phase: making, step: 1 + random.IntN(20)}, {moment: moment(random)},
			{phase: measured, step: 1 + random.IntN(30)}})
		return
	}
	known := map[string]int{}
	t.Run("the steps of an experiment without cuts", func(t *testing.T) { known = s.trace(t) })
	if t.Failed() {
		return
	}
	for i, cuts := range plan(known, rig.Cuts(t, 12), random) {
		s.launch(t, i+1, cuts)
	}
}

const shortSlots = 4

// short is a short experiment that allows as many attempts as there may be cuts.
var short = "[experiment]\nexecutions = 4\nattempts = 20\n" + rig.Limits("5m", "256MiB") + rig.NBody(2) +
	rig.WarnOnly

// cutSuite is the state shared by all experiments of a campaign.
type cutSuite struct {
	campaign *rig.Campaign
	program  string // a krund that counts its steps
}

// machine has the experiment, which begins with the first start.
func (s *cutSuite) machine(t *testing.T) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Experiment(name, short)
	files.Enable(name)
	must.Do(t, files.Copy(rig.InstalledKrund, s.program))
	return rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
}

// trace runs the experiment to its end and counts the steps of each phase.
func (s *cutSuite) trace(t *testing.T) map[string]int {
	m := s.machine(t)
	m.SetKernelArguments(rig.Tickless + " rig.cut=trace")
	m.RunToEnd(rig.UnitOf(name), shortSlots)
	m.WaitUp()
	m.Shutdown()
	known := map[string]int{}
	for i, phase := range []string{making, measured, last} {
		n := stepsOf(m.Console(), []int{1, 2, 1 + shortSlots}[i])
		must.Be(t, n >= 10, n, "steps in the", phase)
		known[phase] = n
		s.campaign.Phase(phase, n)
	}
	s.campaign.Phase(mending, 0)
	e := m.Experiment(directory)
	s.campaign.Ended(m, e.Count(schedule.Completed))
	return known
}

// stepsOf counts krund's steps in a boot. A guard counts its own steps, again from 1, after krund
// has ended.
func stepsOf(console []rig.Line, boot int) int {
	n := 0
	for _, line := range console {
		if line.Boot == boot && strings.HasPrefix(line.Text, fmt.Sprintf("RIG-STEP %d ", n+1)) {
			n++
		}
	}
	return n
}

// launch runs one experiment of the campaign in parallel with others.
func (s *cutSuite) launch(t *testing.T, number int, cuts []cut) {
	t.Run(fmt.Sprint("experiment ", number), func(t *testing.T) {
		t.Parallel()
		x := &cutExperiment{cutSuite: s, t: t, m: s.machine(t)}
		ended := 0
		defer func() { s.campaign.Ended(x.m, ended) }() // even if a failure stops it
		for _, c := range cuts {
			t.Logf("cut %v", c)
			x.make(c)
			x.look()
		}
		ended = x.end()
	})
}

// cutExperiment is an experiment with power cuts.
type cutExperiment struct {
	*cutSuite
	t       *testing.T
	m       *rig.Machine
	earlier *rig.Experiment // state of the disk after the last cut; nil if the experiment had not begun
}

func (x *cutExperiment) make(c cut) {
	if c.phase == "" {
		if x.m.Starts() == 0 {
			x.m.PowerOn()
			x.m.WaitConsole("^RIG-PAYLOAD-OK$")
		}
		x.m.RunAndCut(c.moment)
		x.campaign.RandomCut()
		return
	}
	boots := 0 // without a previous cut
	if c.phase != making && x.earlier == nil {
		boots = 1 // the boot that creates the schedule
	}
	if c.phase == last {
		boots += shortSlots - x.recorded() - 1
	}
	for range boots {
		x.m.Execution(rig.UnitOf(name))
	}
	x.m.SetKernelArguments(rig.Tickless + " rig.cut=" + strconv.Itoa(c.step))
	defer x.m.SetKernelArguments(rig.Tickless)
	x.m.PowerOn()
	if off, _ := x.m.WaitOffOrEnded(rig.UnitOf(name)); off.Reason == rig.OffPort {
		for _, line := range x.m.ConsoleOfThisStart() {
			if strings.HasPrefix(line.Text, "RIG-STEP ") {
				x.t.Log(line.Text)
			}
		}
		x.campaign.ExactCut(c.phase, c.step)
		return
	}
	x.t.Logf("there was no step %d; the power is cut nevertheless", c.step)
	x.m.RunAndCut(time.Duration(c.step) * 100 * time.Millisecond)
	x.campaign.RandomCut()
}

// recorded returns the number of executions with a valid result.
func (x *cutExperiment) recorded() int {
	n := 0
	if x.earlier != nil {
		for _, r := range x.earlier.Records {
			if r.Outcome == results.Completed {
				n++
			}
		}
	}
	return n
}

// harm reports a violation, which fails the test and is counted.
func (x *cutExperiment) harm(h rig.Harm) {
	x.t.Helper()
	x.t.Error(h)
	x.campaign.Harm(h)
}

// look reads the experiment from the disk of the machine, which is off, and checks it.
func (x *cutExperiment) look() {
	x.t.Helper()
	disk := x.m.Disk()
	// the directory is created first
	for _, what := range []string{directory, path.Join(directory, "schedule")} {
		must.Get(disk.List(path.Dir(what)))(x.t)
		if _, err := disk.Read(what); errors.Is(err, fs.ErrNotExist) {
			if x.earlier != nil {
				x.harm(rig.Harm{Kind: rig.Unreadable, Text: what + " is gone"})
			}
			return
		}
	}
	e, err := rig.ReadExperiment(disk.Dump(directory))
	if err != nil {
		x.harm(rig.Harm{Kind: rig.Unreadable, Text: err.Error()})
		x.t.FailNow()
	}
	for _, h := range e.Harms(x.earlier) {
		x.harm(h)
	}
	x.earlier = e
}

// end lets the experiment run to its end and returns the number of its results.
func (x *cutExperiment) end() int {
	over := false
	defer func() {
		if !over {
			x.campaign.Harm(rig.Harm{Kind: rig.Endless})
		}
	}()
	if enabled(x.t, x.m) {
		if ended := x.m.RunToEnd(rig.UnitOf(name), 3*shortSlots); ended.Result != "success" {
			x.t.Errorf("krund ended with %+v", ended)
		}
		x.m.WaitUp()
		x.m.Shutdown()
	}
	x.look()
	if x.earlier == nil || !x.earlier.Finished() || enabled(x.t, x.m) {
		x.t.Errorf("the experiment did not end: %+v, enabled: %v", x.earlier, enabled(x.t, x.m))
		return 0
	}
	over = true
	n := x.earlier.Count(schedule.Completed)
	if n != shortSlots {
		x.harm(rig.Harm{Kind: rig.Wrong, Text: fmt.Sprintf("%d of %d completed: %v", n, shortSlots,
			x.earlier.Slots)})
	}
	return n
}

// enabled reports whether the next boot of a machine, which is off, would continue the experiment.
func enabled(t *testing.T, m *rig.Machine) bool {
	t.Helper()
	entries := must.Get(m.Disk().List("/etc/systemd/system/multi-user.target.wants"))(t)
	return slices.ContainsFunc(entries, func(e rig.Entry) bool { return e.Name == rig.UnitOf(name) })
}
