package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"krund/rig"
)

// The longest time between two cuts. A start takes about five seconds on an idle host, so the cuts come in all phases of one to a few.
const longest = 15 * time.Second

// TestPowerCuts cuts the power at random moments, three times per experiment, looks at the disk after each cut, and lets the experiment end.
// KRUND_RIG_CUTS says how many cuts there are in all.
func TestPowerCuts(t *testing.T) {
	const perExperiment = 3
	random := rig.Rand(t)
	cuts := rig.Cuts(t, perExperiment)
	for done := 0; done < cuts; done += perExperiment {
		var moments []time.Duration
		for range min(cuts-done, perExperiment) {
			moments = append(moments, time.Duration(random.Int64N(int64(longest))))
		}
		t.Run(fmt.Sprintf("from cut %d", done+1), func(t *testing.T) { cutAt(t, moments) })
	}
}

func cutAt(t *testing.T, moments []time.Duration) {
	t.Logf("cuts after %v", moments)
	m := machine(t, true)
	m.PowerOn()
	m.WaitConsole("^RIG-PAYLOAD-OK$")
	earlier := &rig.Experiment{}
	for i, moment := range moments {
		m.RunAndCut(moment)
		e := afterCut(t, m)
		if e == nil {
			continue
		}
		for _, problem := range append(e.Problems(), sinceCut(e, earlier)...) {
			t.Errorf("after cut %d: %s", i+1, problem)
		}
		earlier = e
	}
	if earlier.Slots == nil || !earlier.Finished() {
		m.RunToEnd(rig.UnitOf(name), 3*slots)
		m.WaitUp()
		m.Shutdown()
	}
	e := m.Experiment(folder)
	for _, problem := range append(e.Problems(), sinceCut(e, earlier)...) {
		t.Errorf("at the end: %s", problem)
	}
	if !e.Finished() {
		t.Errorf("the experiment did not end: %v", e.Slots)
	}
}

// afterCut reads the experiment from the disk, or returns nil when it had not begun.
func afterCut(t *testing.T, m *rig.Machine) *rig.Experiment {
	t.Helper()
	disk := m.Disk()
	if _, err := disk.List(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := disk.Read(filepath.Join(folder, "schedule")); errors.Is(err, fs.ErrNotExist) {
		return nil // its folder is made first
	}
	e, err := rig.ReadExperiment(disk.Dump(folder))
	if err != nil {
		t.Fatalf("after a cut: %v", err)
	}
	return e
}

// sinceCut is Since, for experiments that may not have begun before.
func sinceCut(e, earlier *rig.Experiment) []string {
	if earlier.Slots == nil {
		return nil
	}
	return e.Since(earlier)
}
