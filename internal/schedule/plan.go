package schedule

import (
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
)

// The orders of a schedule.
const (
	RoundRobin  = "round-robin" // every key once in the given order, then every key again
	Interleaved = "interleaved" // every key once per round, each round in its own order
	Blocked     = "blocked"     // the same, with the arms of a key next to each other in each round
)

// KnownOrder reports whether order is one of the above.
func KnownOrder(order string) bool {
	return order == RoundRobin || order == Interleaved || order == Blocked
}

// Plan yields the slots of an experiment in execution order: in each round every key once that has
// executions left. executions is called once for each key; it returns the same number for all arms
// of a key. All slots are Outstanding. The result can be iterated repeatedly while keys does not
// change. The memory use is that of one round.
//
// Interleaved and Blocked draw an independent order for each round from seed and the number of the
// round alone. It is the same on every machine and with every version of Go: see the package
// documentation. A round of Blocked is a block: the slots with the same Pexec.
//
// Plan panics if order is unknown: config and Open reject unknown orders.
func Plan(keys []key.Key, executions func(key.Key) int, order string, seed uint64) iter.Seq[Slot] {
	if !KnownOrder(order) {
		panic(fmt.Sprintf("schedule: order %q", order))
	}
	return func(yield func(Slot) bool) {
		groups := groupsOf(keys, order)
		counts := make([]int, len(keys))
		for i, k := range keys {
			counts[i] = executions(k)
		}
		index := 0
		for round := 1; round <= slices.Max(append(counts, 0)); round++ {
			for _, k := range turn(groups, order, seed, uint64(round)) {
				if round > counts[k] {
					continue
				}
				s := Slot{Index: index, Flag: Outstanding, Pexec: round, Key: keys[k]}
				if !yield(s) {
					return
				}
				index++
			}
		}
	}
}

// groupsOf returns the indexes of keys that stay next to each other: with Blocked, the arms of a
// key; otherwise each key alone. Groups and their members are in the order of keys.
func groupsOf(keys []key.Key, order string) [][]int {
	var groups [][]int
	at := make(map[key.Key]int)
	for i, k := range keys {
		if order == Blocked {
			k.Arm = ""
		}
		g, seen := at[k]
		if !seen {
			g = len(groups)
			at[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// turn returns the indexes of the keys in the order of one round.
func turn(groups [][]int, order string, seed, round uint64) []int {
	src := rand.NewPCG(seed, round)
	if order != RoundRobin {
		groups = slices.Clone(groups)
		permute(groups, src)
	}
	var list []int
	for _, group := range groups {
		from := len(list)
		list = append(list, group...)
		if order == Blocked {
			permute(list[from:], src)
		}
	}
	return list
}

// LayoutBytes bounds Offset: a page.
const LayoutBytes = 4096

// Offset returns the layout of the executions with that number (Slot.Pexec) in an experiment with
// random layouts: by how many bytes environment and stack are moved, a multiple of 16 from 0 to
// LayoutBytes-16. It is the same for all keys and arms of a round, and for another attempt.
func Offset(seed uint64, number int) int {
	offset, _ := layout(seed, number)
	return offset
}

// LinkSeed returns the seed of experiment.relink for the executions with that number, from 0 to
// 2^31-1. Like Offset, it is the same for all keys and arms of a round, and for another attempt.
func LinkSeed(seed uint64, number int) uint32 {
	_, link := layout(seed, number)
	return link
}

func layout(seed uint64, number int) (offset int, link uint32) {
	const aligned = 16
	src := rand.NewPCG(^seed, uint64(number))
	offset = aligned * int(below(src, LayoutBytes/aligned))
	return offset, uint32(below(src, 1<<31))
}

// permute shuffles list with the Fisher-Yates algorithm (Knuth, The Art of Computer Programming 2,
// algorithm P) and numbers from PCG-DXSM. It does not use the shuffle of math/rand, which may
// change.
func permute[T any](list []T, src *rand.PCG) {
	for i := len(list) - 1; i > 0; i-- {
		j := below(src, uint64(i)+1)
		list[i], list[j] = list[j], list[i]
	}
}

// below draws a number from 0 to n-1 with equal probability: the upper half of a 64 by 64 bit
// product, redrawn in the few cases that would introduce a bias (Lemire, Fast Random Integer
// Generation in an Interval, ACM TOMACS 29, 2019).
func below(src *rand.PCG, n uint64) uint64 {
	favoured := -n % n // 2^64 mod n
	for {
		high, low := bits.Mul64(src.Uint64(), n)
		if low >= favoured {
			return high
		}
	}
}

// Stage is a configuration of an experiment that grew: what it plans beside the earlier stages
// comes from the slot From on. From is 0 for the first stage.
type Stage struct {
	Config *config.Config
	From   int
}

// StagesOf returns the stages of an experiment that did not grow.
func StagesOf(cfg *config.Config) []Stage { return []Stage{{Config: cfg}} }

// PlanOf yields the slots of an experiment in execution order. Without growth these are the Plan of
// its configuration or, with a shard, the slots of its rounds, in their order and with their
// numbers. Each further stage keeps the slots before its From, and orders anew what is not among
// them: see the package documentation. Its memory use is then that of the slots.
func PlanOf(stages []Stage) iter.Seq[Slot] {
	last := stages[len(stages)-1]
	if len(stages) == 1 {
		return planOf(last.Config)
	}
	return func(yield func(Slot) bool) {
		kept := map[execution]bool{}
		current := 0 // the round of the last kept slot
		for s := range PlanOf(stages[:len(stages)-1]) {
			if s.Index == last.From {
				break
			}
			kept[s.execution()], current = true, s.Pexec
			if !yield(s) {
				return
			}
		}
		index := len(kept)
		for _, round := range roundsAfter(last.Config, kept, current) {
			for _, s := range round {
				s.Index = index
				index++
				if !yield(s) {
					return
				}
			}
		}
	}
}

// execution identifies a process execution: the same slot may have another index in another stage.
type execution struct {
	key    key.Key
	number int
}

func (s Slot) execution() execution { return execution{s.Key, s.Pexec} }

// planOf is PlanOf for the only stage.
func planOf(cfg *config.Config) iter.Seq[Slot] {
	e := cfg.Experiment
	return func(yield func(Slot) bool) {
		index := 0
		for s := range Plan(cfg.Keys(), cfg.Planned, e.Order, e.Seed) {
			if !e.Shard.Has(s.Pexec) {
				continue
			}
			s.Index = index
			index++
			if !yield(s) {
				return
			}
		}
	}
}

// roundsAfter returns what cfg plans beside the kept slots, by rounds. The rest of the current
// round comes first. If a part of another round was kept, keys were added; what they still lack is
// spread over the rest of the experiment, so that it is not measured apart: the rounds are
// shuffled.
func roundsAfter(cfg *config.Config, kept map[execution]bool, current int) [][]Slot {
	var rounds [][]Slot
	var own, rest []Slot // of the current round; of the round that is read
	number, partly, spread := 0, false, false
	next := func() {
		switch {
		case len(rest) == 0:
		case number == current:
			own = rest
		default:
			rounds, spread = append(rounds, rest), spread || partly
		}
		rest, partly = nil, false
	}
	for s := range planOf(cfg) {
		if s.Pexec != number {
			next()
			number = s.Pexec
		}
		if kept[s.execution()] {
			partly = true
		} else {
			rest = append(rest, s)
		}
	}
	next()
	if e := cfg.Experiment; spread && e.Order != RoundRobin {
		permute(rounds, rand.NewPCG(e.Seed, ^uint64(len(kept))))
	}
	return append([][]Slot{own}, rounds...)
}

// Growth returns from which slot on a further stage may order the slots anew: after the last one
// that was begun and, if the experiment is blocked, after the block that it belongs to.
func (s *Schedule) Growth() (from int, err error) {
	from, _, err = s.growth()
	return from, err
}

// growth is Growth with the executions after it that will not run.
func (s *Schedule) growth() (from int, skipped map[execution]Flag, err error) {
	skipped = map[execution]Flag{}
	var last Slot // the last slot before from
	for slot, err := range s.Slots() {
		if err != nil {
			return 0, nil, err
		}
		begun := slot.Attempts > 0 || slot.Flag.Final() && slot.Flag != Skipped
		sameBlock := from == slot.Index && from > 0 && s.header.Order == Blocked && last.sharesBlock(slot)
		if begun || sameBlock {
			from, last = slot.Index+1, slot
			clear(skipped)
		} else if slot.Flag == Skipped {
			skipped[slot.execution()] = Skipped
		}
	}
	return from, skipped, nil
}

// sharesBlock reports whether two slots are of arms of the same key, in the same round.
func (s Slot) sharesBlock(other Slot) bool {
	a, b := s.Key, other.Key
	a.Arm, b.Arm = "", ""
	return a == b && s.Pexec == other.Pexec
}

// Extend durably replaces the schedule s at path by that of one more stage: the last of stages.
// Slots that were begun keep their place and their state, and the schedule never becomes shorter.
// After a crash the old file or the new one exists. s must be opened again then. The errors are
// those of CanExtend and of the disk.
func Extend(fsys durable.FS, path string, s *Schedule, stages []Stage) error {
	h, skipped, err := extended(s, stages)
	if err != nil {
		return fmt.Errorf("extend %s: %w", path, err)
	}
	from := stages[len(stages)-1].From
	var failed error
	err = write(fsys, path, h, func(yield func(Slot) bool) {
		for slot := range PlanOf(stages) {
			if slot.Index < from {
				if slot, failed = s.Slot(slot.Index); failed != nil {
					return
				}
			} else if flag, ok := skipped[slot.execution()]; ok {
				slot.Flag = flag
			}
			if !yield(slot) {
				return
			}
		}
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("extend %s: %w", path, err)
	}
	return nil
}

// CanExtend returns why the schedule s cannot become that of one more stage, the last of stages: it
// is not the schedule of the stages before, or a slot from the last stage's From on was begun.
func CanExtend(s *Schedule, stages []Stage) error {
	_, _, err := extended(s, stages)
	return err
}

// extended returns the header that s has with one more stage, and the executions in it that will
// not run.
func extended(s *Schedule, stages []Stage) (h Header, skipped map[execution]Flag, err error) {
	last := stages[len(stages)-1]
	plan := PlanOf(stages)
	h = s.Header()
	before := h.Slots
	shaped, err := shape(Header{Order: h.Order, Sectors: h.Sectors}, count(plan), plan)
	if err != nil {
		return h, nil, err
	}
	h.Width, h.Slots = max(h.Width, shaped.Width), shaped.Slots
	h.Generation++
	h.ConfigHash, h.Next = last.Config.Hash, 0
	from, skipped, err := s.growth()
	switch {
	case err != nil:
		return h, nil, err
	case from > last.From:
		return h, nil, fmt.Errorf("slot %d was begun, but the slots from %d on are planned anew; the "+
			"schedule and what it grows by are not of the same time: restore both from one copy", from-1,
			last.From)
	case h.Slots < before:
		return h, nil, fmt.Errorf("it has %d slots and would have %d; a schedule never shrinks", before,
			h.Slots)
	}
	for slot := range plan {
		if slot.Index >= last.From {
			break
		}
		stored, err := s.Slot(slot.Index)
		if err == nil && stored.execution() != slot.execution() {
			err = fmt.Errorf("slot %d is %s number %d, but was planned as %s number %d; if the experiment "+
				"grew before, restore its editions.json from a copy", slot.Index, stored.Key, stored.Pexec,
				slot.Key, slot.Pexec)
		}
		if err != nil {
			return h, nil, err
		}
	}
	return h, skipped, nil
}
