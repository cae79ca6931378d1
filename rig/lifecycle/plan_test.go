package lifecycle

import (
	"math/rand/v2"
	"testing"

	"krund/rig"
)

func TestStepsAreCountedUntilAnotherProcessBegins(t *testing.T) {
	console := []rig.Line{
		{Boot: 1, Text: "RIG-STEP 1 create /a"}, {Boot: 2, Text: "RIG-STEP 1 create /a"}, {Boot: 2, Text: "noise"}, {Boot: 2, Text: "RIG-STEP 2 write /a"},
		{Boot: 2, Text: "RIG-STEP 1 create /b"}, {Boot: 2, Text: "RIG-STEP 2 write /b"},
	}
	for boot, want := range map[int]int{1: 1, 2: 2, 3: 0} {
		if got := stepsOf(console, boot); got != want {
			t.Errorf("boot %d: %d steps, want %d", boot, got, want)
		}
	}
}

func TestPlanCutsEveryStepOnceWhenThereAreEnough(t *testing.T) {
	known := map[string]int{making: 24, measured: 42, last: 36}
	for _, n := range []int{1, 2, 3, 12, 99, 100, 150, 301} {
		total, exact, mended := 0, map[cut]int{}, 0
		for _, cuts := range plan(known, n, rand.New(rand.NewPCG(1, 2))) {
			total += len(cuts)
			if len(cuts) > 2 || len(cuts) == 2 && cuts[1].phase == making {
				t.Errorf("%d cuts: experiment %v", n, cuts)
			}
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
		if total != n {
			t.Errorf("%d cuts planned, want %d", total, n)
		}
		if want := min(102, n*7/10); len(exact) < want-1 || len(exact) > want {
			t.Errorf("%d cuts: %d at different steps, want %d", n, len(exact), want)
		}
		if n >= 100 && mended == 0 {
			t.Errorf("%d cuts: none in a boot that mends", n)
		}
		for c, times := range exact {
			if times != 1 {
				t.Errorf("%d cuts: %d %v", n, times, c)
			}
		}
	}
}
