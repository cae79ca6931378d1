package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"krund/rig"
	"krund/rig/must"
)

// The kinds of boots of krund in an experiment.
const (
	making   = "first boot, which makes the schedule"
	measured = "boot with an execution"
	last     = "boot with the last execution"
	mending  = "boot after a cut in an execution"
)

// cut is one power cut: at a step of the next boot of its phase or, without a phase, some time
// after the previous one.
type cut struct {
	phase  string
	step   int
	moment time.Duration
}

func (c cut) String() string {
	if c.phase == "" {
		return "after " + c.moment.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("before step %d of the %s", c.step, c.phase)
}

// The longest time between two random cuts. A start takes about five seconds on an idle host, so
// the cuts hit all phases of one or several starts.
const longest = 15 * time.Second

func moment(random *rand.Rand) time.Duration { return time.Duration(random.Int64N(int64(longest))) }

// plan distributes n cuts over experiments of two. Three quarters of the cuts, but not more than
// there are steps, hit different steps of the three known phases. The other experiments have two
// cuts at random moments or, every second one, a cut in an execution and one in the boot that
// repairs it.
func plan(known map[string]int, n int, random *rand.Rand) [][]cut {
	var all []cut
	for _, phase := range []string{making, measured, last} {
		for step := range known[phase] {
			all = append(all, cut{phase: phase, step: step + 1})
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	of := map[string][]cut{}
	exact := min(len(all), n*3/4)
	for _, c := range all[:exact] {
		of[c.phase] = append(of[c.phase], c)
	}
	take := func(phases ...string) []cut { // one of the phase with the most remaining steps
		phase := slices.MaxFunc(phases, func(a, b string) int { return len(of[a]) - len(of[b]) })
		if len(of[phase]) == 0 {
			return nil
		}
		c := of[phase][0]
		of[phase] = of[phase][1:]
		return []cut{c}
	}
	var experiments [][]cut
	for n > 0 {
		cuts := take(making)
		if cuts == nil {
			cuts = take(measured)
		}
		if cuts == nil || cuts[0].phase == making {
			cuts = append(cuts, take(measured, last)...)
		} else {
			cuts = append(cuts, take(last)...)
		}
		if cuts == nil && n > 1 && len(experiments)%2 == 0 {
			cuts = []cut{{phase: measured, step: 9 + random.IntN(24)},
				{phase: mending, step: 1 + random.IntN(45)}}
		}
		for len(cuts) < 2 {
			cuts = append(cuts, cut{moment: moment(random)})
		}
		cuts = cuts[:min(n, 2)]
		experiments = append(experiments, cuts)
		n -= len(cuts)
	}
	return experiments
}

func TestStepsAreCountedUntilAnotherProcessBegins(t *testing.T) {
	console := []rig.Line{
		{Boot: 1, Text: "RIG-STEP 1 create /a"}, {Boot: 2, Text: "RIG-STEP 1 create /a"},
		{Boot: 2, Text: "noise"}, {Boot: 2, Text: "RIG-STEP 2 write /a"},
		{Boot: 2, Text: "RIG-STEP 1 create /b"}, {Boot: 2, Text: "RIG-STEP 2 write /b"},
	}
	for boot, want := range map[int]int{1: 1, 2: 2, 3: 0} {
		must.Equal(t, stepsOf(console, boot), want, "boot", "steps")
	}
}

func TestPlanCutsEveryStepOnceWhenThereAreEnough(t *testing.T) {
	known := map[string]int{making: 24, measured: 42, last: 40}
	for _, n := range []int{1, 2, 3, 12, 99, 100, 150, 301} {
		total, exact, mended := 0, map[cut]int{}, 0
		for _, cuts := range plan(known, n, rand.New(rand.NewPCG(1, 2))) {
			total += len(cuts)
			must.Be(t, len(cuts) <= 2 && (len(cuts) != 2 || cuts[1].phase != making), n, "cuts: experiment",
				cuts)
			if len(cuts) == 2 && cuts[1].phase == mending {
				mended++
				continue
			}
			for _, c := range cuts {
				if c.phase != "" && c.phase != mending {
					exact[c]++
				}
			}
		}
		must.Equal(t, total, n, "cuts planned")
		if want := min(106, n*3/4); len(exact) < want-1 || len(exact) > want {
			t.Errorf("%d cuts: %d at different steps, want %d", n, len(exact), want)
		}
		must.Be(t, n < 100 || mended != 0, n, "cuts: none in a boot that mends")
		for c, times := range exact {
			must.Equal(t, times, 1, n, "cuts", c)
		}
	}
}
