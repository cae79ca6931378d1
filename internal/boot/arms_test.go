package boot

import (
	"fmt"
	"slices"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

const arms = `[arms.base]
[arms.new]
args = ["-x"]
[arms.again]
null = true
`

// TestEveryCutWithArms cuts the power in each operation of an experiment with arms: afterwards each
// block has each key once in each arm.
func TestEveryCutWithArms(t *testing.T) {
	must.Long(t)
	cfg := parse(t, experimentText("executions = 1\nattempts = 2\nreboot = \"hardware\"\n"+
		"layout = \"random\"\nrelink = [\"./relink\"]\nskip = [\"*:*:*@again\"]")+arms)
	t.Parallel()
	cutEverywhere(t, cfg, func(*simulated) {})
}

// TestBlocks: the arms of a key follow each other, in different orders; all of them have the layout
// of their block, also when a slot is run again; and the commands are those of the arms.
func TestBlocks(t *testing.T) {
	const executions = 8
	cfg := parse(t, experimentText(fmt.Sprintf("executions = %d\nattempts = 2\nreboot = \"none\"\n"+
		"layout = \"random\"\nrelink = [\"./relink\"]\nseed = 9", executions))+arms)
	s, fsys := newSimulated(t), crashfs.New("/lab")
	layouts := map[int]execution.Layout{}
	var ran []execution.Job
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		ran = append(ran, j)
		m := good(j, boot)
		m.Layout = &results.Layout{Mode: j.Layout.Mode, OffsetBytes: j.Layout.Offset,
			Relink: j.Layout.Relinked}
		if len(ran)%3 == 0 { // disturbed: its slot is run again, if there is an attempt left
			m.Execution.Refused = []string{"disturbed"}
		}
		return m
	}
	must.Get(Run(t.Context(), cfg, dir, config.RebootNone, s.system(fsys)))(t)
	for _, j := range ran {
		want := j.Key.Arm == "new"
		must.Equal(t, slices.Equal(j.VM.Args, []string{"-x"}), want, j.Key, "arguments", j.VM.Args)
	}
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		offset := schedule.Offset(9, r.Pexec)
		l, seen := layouts[r.Pexec]
		must.Be(t, (!seen || l.Offset == r.Layout.OffsetBytes) && offset == r.Layout.OffsetBytes, "slot",
			r.Slot, "attempt", r.Attempt, "layout", r.Layout, "that of its block is", offset)
		if l := r.Layout.Relink; l == nil || l.Seed != schedule.LinkSeed(9, r.Pexec) {
			t.Errorf("slot %d, attempt %d: relinked with %+v", r.Slot, r.Attempt, l)
		}
		layouts[r.Pexec] = execution.Layout{Offset: r.Layout.OffsetBytes}
	}
	orders := ordersOf(t, fsys, executions)
	must.Be(t, len(layouts) == executions && len(orders) >= 4, len(layouts), "layouts, orders", orders)
}

// ordersOf returns the orders in which the arms were run, with how often, and checks that they are
// next to each other.
func ordersOf(t *testing.T, fsys durable.FS, executions int) map[string]int {
	t.Helper()
	s := must.Get(schedule.Open(fsys, dir+"/schedule", false))(t)
	defer s.Close()
	var slots []schedule.Slot
	for slot, err := range s.Slots() {
		must.Do(t, err)
		slots = append(slots, slot)
	}
	orders := map[string]int{}
	for block := range slices.Chunk(slots, 3) {
		order := ""
		for _, slot := range block {
			order += slot.Key.Arm + " "
			must.Be(t, slot.Key.Benchmark == block[0].Key.Benchmark && slot.Pexec == block[0].Pexec, "slot",
				slot.Index, "is among those of slot", block[0].Index)
		}
		orders[order]++
	}
	must.Be(t, s.Header().Order == schedule.Blocked && len(slots) == 2*3*executions, "order",
		s.Header().Order, len(slots), "slots")
	return orders
}
