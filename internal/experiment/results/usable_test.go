package results_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestUsableLeavesOut: a record that contradicts itself, one that cannot be read and one that is
// gone are reported, and the others follow in order.
func TestUsableLeavesOut(t *testing.T) {
	dir := t.TempDir()
	a := results.NewAppender(durable.OS(), dir)
	var names []results.Name
	for slot := range 5 {
		r := full()
		r.Slot, r.Attempt = slot, 1
		if slot == 1 {
			r.Iterations = 1 // it has more
		}
		names = append(names, results.Name{Slot: slot, Attempt: 1})
		if slot == 4 {
			break
		}
		must.Do(t, a.Append(r))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, names[2].String()), []byte("no record"), 0o644))
	var out []string
	var slots []int
	leaveOut := func(err error) { out = append(out, err.Error()) }
	for r := range results.NewReader(durable.OS(), dir).Usable(names, leaveOut) {
		slots = append(slots, r.Slot)
	}
	must.Be(t, slices.Equal(slots, []int{0, 3}) && len(out) == 3 && strings.Contains(out[0], "0000001-001") &&
		strings.Contains(out[1], "0000002-001") && strings.Contains(out[2], "0000004-001"), "slots", slots,
		"left out", out)
}
