package schedule_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config"
	"krund/internal/schedule"
	"krund/rig/must"
)

const grownPath = "/x/schedule"

// design is an experiment that can grow.
type design struct {
	order                             string
	executions, vms, benchmarks, arms int
	shard                             string
}

func (d design) config(t testing.TB) *config.Config {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "[experiment]\nexecutions = %d\nseed = 3\n", d.executions)
	if d.arms == 0 {
		fmt.Fprintf(&b, "order = %q\n", d.order)
	}
	if d.shard != "" {
		fmt.Fprintf(&b, "shard = %q\n", d.shard)
	}
	for i := range d.arms {
		fmt.Fprintf(&b, "[arms.a%d]\nenv.X = \"%d\"\n", i, i)
	}
	for i := range d.vms {
		fmt.Fprintf(&b, "[vms.V%d]\nrunner = \"c\"\nvariants = [\"v\"]\n", i)
	}
	b.WriteString("[variants.v]\nentry = \"x.so\"\n[benchmarks]\n")
	for i := range d.benchmarks {
		fmt.Fprintf(&b, "b%d = { parameter = 1 }\n", i)
	}
	return must.Get(config.Parse("/x.toml", []byte(b.String()), "host", nil))(t)
}

// named are the executions of slots, each once.
func named(t *testing.T, slots []schedule.Slot) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, s := range slots {
		name := fmt.Sprint(s.Key, " ", s.Pexec)
		must.Be(t, !names[name], name, "is planned twice")
		names[name] = true
	}
	return names
}

// TestAGrownPlan: whatever an experiment grows by, whenever, and how often, it has the executions
// that it would have been planned with from the start, what was begun keeps its place, and the arms
// of a key stay next to each other.
func TestAGrownPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		d := design{executions: 1 + r.IntN(4), vms: 1 + r.IntN(2), benchmarks: 1 + r.IntN(3),
			order: []string{schedule.RoundRobin, schedule.Interleaved}[r.IntN(2)]}
		if r.IntN(2) == 0 {
			d.arms = 2 + r.IntN(2)
		}
		if r.IntN(4) == 0 {
			d.shard, d.executions = "1/2", d.executions+1
		}
		stages := schedule.StagesOf(d.config(t))
		before := slices.Collect(schedule.PlanOf(stages))
		for range 1 + r.IntN(3) {
			d.executions += r.IntN(3)
			d.vms, d.benchmarks = d.vms+r.IntN(2), d.benchmarks+r.IntN(2)
			if d.arms > 0 {
				d.arms += r.IntN(2)
			}
			from := r.IntN(len(before) + 1)
			for d.arms > 0 && from > 0 && from < len(before) &&
				groupOf(before[from]) == groupOf(before[from-1]) {
				from++ // as Growth does
			}
			from = max(from, stages[len(stages)-1].From) // only what was planned then can be begun
			stages = append(stages, schedule.Stage{Config: d.config(t), From: from})
			after := slices.Collect(schedule.PlanOf(stages))
			must.Be(t, slices.Equal(before[:from], after[:from]), "round", round, "what was begun has moved")
			fresh := slices.Collect(schedule.PlanOf(schedule.StagesOf(d.config(t))))
			must.Be(t, maps.Equal(named(t, after), named(t, fresh)), "round", round, len(after), len(fresh))
			if from == 0 {
				must.Be(t, slices.Equal(after, fresh), "round", round, "nothing was begun")
			}
			runs := map[string]int{}
			for i, s := range after {
				must.Equal(t, s.Index, i, "index")
				if i >= from && (i == from || groupOf(s) != groupOf(after[i-1])) {
					runs[groupOf(s)]++
				}
			}
			for group, n := range runs {
				must.Be(t, n == 1 || d.arms == 0, "round", round, group, "is in", n, "places")
			}
			before = after
		}
	}
}

// groupOf names the block of a slot: a key without its arm, and the round.
func groupOf(s schedule.Slot) string {
	s.Key.Arm = ""
	return fmt.Sprint(s.Key, " ", s.Pexec)
}

// TestTheOrderOfAGrownPlan: the rest of the round comes first; without new keys the order is that
// of an experiment that was planned so from the start; with new keys what they lack is among the
// rest. These orders must never change.
func TestTheOrderOfAGrownPlan(t *testing.T) {
	d := design{order: schedule.Interleaved, executions: 3, vms: 1, benchmarks: 2}
	stages := schedule.StagesOf(d.config(t))
	d.executions = 6
	more := append(slices.Clone(stages), schedule.Stage{Config: d.config(t), From: 3})
	must.Be(t, slices.Equal(slices.Collect(schedule.PlanOf(more)),
		slices.Collect(schedule.PlanOf(schedule.StagesOf(d.config(t))))), "another order")
	d.benchmarks = 3
	var text []string
	for s := range schedule.PlanOf(append(stages, schedule.Stage{Config: d.config(t), From: 3})) {
		text = append(text, fmt.Sprintf("%s%d", strings.TrimPrefix(s.Key.Benchmark, "b"), s.Pexec))
	}
	must.Equal(t, strings.Join(text, " "),
		"11 01 02 22 12 13 23 03 04 14 24 26 06 16 21 15 25 05", "benchmark and number")
}

// begin begins and finishes the next n slots.
func begin(s *schedule.Schedule, n int) error {
	for range n {
		slot, err := s.Begin()
		if err == nil {
			err = s.Finish(slot, schedule.Completed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grownDisk has a schedule of which n slots are completed, and returns its stages and those of a
// larger one.
func grownDisk(t *testing.T, from, to design, n int) (*crashfs.FS, []schedule.Stage) {
	t.Helper()
	fsys := crashfs.New("/x")
	stages := schedule.StagesOf(from.config(t))
	e := stages[0].Config
	h := schedule.Header{ConfigHash: e.Hash, Order: e.Experiment.Order, Seed: e.Experiment.Seed,
		Created: "then"}
	must.Do(t, schedule.Create(fsys, grownPath, h, e.Slots(), schedule.PlanOf(stages)))
	s := must.Get(schedule.Open(fsys, grownPath, true))(t)
	must.Do(t, begin(s, n))
	first := must.Get(s.Growth())(t)
	must.Do(t, s.Close())
	return fsys, append(stages, schedule.Stage{Config: to.config(t), From: first})
}

// TestExtend: counts and flags of the header and of what was begun stay, a skipped slot stays
// skipped, and lines get longer with the keys.
func TestExtend(t *testing.T) {
	small := design{executions: 3, vms: 1, benchmarks: 1, arms: 2}
	large := design{executions: 5, vms: 2, benchmarks: 1, arms: 3}
	fsys, stages := grownDisk(t, small, large, 3)
	must.Equal(t, stages[1].From, 4, "the block that was begun is kept as a whole")
	s := must.Get(schedule.Open(fsys, grownPath, true))(t)
	last := must.Get(s.Slot(5))(t)
	must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Reboots, h.Mails, h.Boot = 7, 2, "b" }))
	must.Do(t, s.Finish(last, schedule.Skipped))
	must.Do(t, schedule.Extend(fsys, grownPath, s, stages))
	grown := must.Get(schedule.Open(fsys, grownPath, true))(t)
	h := grown.Header()
	must.Be(t, h.Slots == 30 && h.Reboots == 7 && h.Mails == 2 && h.Boot == "b" && h.Created == "then" &&
		h.ConfigHash == stages[1].Config.Hash && h.Next == 0, h)
	sum := must.Get(grown.Summarize())(t)
	must.Be(t, sum.Completed == 3 && sum.Skipped == 1 && sum.Outstanding == 26 && sum.Next == 3, sum)
	for slot, err := range grown.Slots() {
		must.Be(t, err == nil && (slot.Flag == schedule.Skipped) == (slot.Key == last.Key &&
			slot.Pexec == 3), slot)
	}
	must.Do(t, begin(grown, 26))
	must.Refuse(t, schedule.Extend(fsys, grownPath, grown, stages), "was begun, but the slots from 4 on",
		"a late one")
	fsys, stages = grownDisk(t, large, small, 3)
	s = must.Get(schedule.Open(fsys, grownPath, true))(t)
	must.Refuse(t, schedule.Extend(fsys, grownPath, s, stages), "never shrinks", "a smaller one")
}

// TestEveryCutOfAGrowth cuts the power in each operation: the old schedule or the new one is there,
// whole, with what was completed, and growing it again ends as without the cut.
func TestEveryCutOfAGrowth(t *testing.T) {
	small := design{executions: 3, vms: 1, benchmarks: 2, arms: 2}
	large := design{executions: 40, vms: 3, benchmarks: 2, arms: 3}
	_, stages := grownDisk(t, small, large, 7)
	build := func() *crashfs.FS {
		fsys, _ := grownDisk(t, small, large, 7)
		return fsys
	}
	grow := func(fsys *crashfs.FS) error {
		s, err := schedule.Open(fsys, grownPath, true)
		if err == nil && s.Header().Slots == 12 {
			err = schedule.Extend(fsys, grownPath, s, stages)
		}
		return err
	}
	cuts := 0
	for cut, fsys := range crashfs.EveryCut(build, grow, crashfs.Policies(1)...) {
		cuts++
		must.Do(t, grow(fsys), cut)
		s := must.Get(schedule.Open(fsys, grownPath, false))(t, cut)
		sum := must.Get(s.Summarize())(t, cut)
		must.Be(t, sum.Completed == 7 && sum.Total() == 720 && sum.Damaged == 0, cut, sum)
	}
	t.Log(cuts, "cuts")
}
