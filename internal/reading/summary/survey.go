package summary

import (
	"errors"
	"slices"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Limits on the number of records read to estimate a duration, so that the cost of a status does
// not grow with the experiment.
const (
	samplesPerKey = 3
	mostSamples   = 300
)

// survey is the result of one pass over the schedule: its state in numbers, and the slots whose
// records are worth reading.
type survey struct {
	recent   map[key.Key][]schedule.Slot // the last completed slots of each key
	failures []schedule.Slot             // slots that ended with an error or a timeout, the first few
	failed   int                         // how many there are
	tail     []schedule.Slot             // those that failed after the last completed one, the last few
	tailed   int                         // how many there are
	running  *schedule.Slot
	next     *schedule.Slot // first outstanding one
	last     *schedule.Slot // last finished one
	damaged  []*schedule.DamagedSlot
	seen     schedule.Counts
	keys     []schedule.KeyCounts
	at       map[key.Key]int
	blocks   *BlockCounts // nil without arms
	block    block        // the one being read
}

// block is the arms of a key in one block. They are next to each other in the schedule.
type block struct {
	key             key.Key // without the arm
	number          int
	open, completed int // arms that are not finished; that are completed
	arms            int
}

// addBlock counts the slot of an arm, and the block before it if the slot is the first of another.
func (v *survey) addBlock(slot schedule.Slot) {
	k := slot.Key
	k.Arm = ""
	if v.block.arms > 0 && (v.block.key != k || v.block.number != slot.Pexec) {
		v.endBlock()
	}
	v.block.key, v.block.number = k, slot.Pexec
	v.block.arms++
	switch {
	case slot.Flag == schedule.Completed:
		v.block.completed++
	case !slot.Flag.Final():
		v.block.open++
	}
}

// endBlock adds the block to the counts.
func (v *survey) endBlock() {
	if v.block.arms == 0 {
		return
	}
	if v.blocks == nil {
		v.blocks = &BlockCounts{}
	}
	v.blocks.Total++
	switch {
	case v.block.open > 0:
	case v.block.completed == v.block.arms:
		v.blocks.Complete++
	default:
		v.blocks.Incomplete++
	}
	v.block = block{}
}

func newSurvey() *survey {
	return &survey{recent: make(map[key.Key][]schedule.Slot), at: make(map[key.Key]int)}
}

// surveyOf reads every slot of s once. Its memory depends on the number of keys, on mostFailures
// and on the number of damaged slots.
func surveyOf(s *schedule.Schedule, mostFailures int) (*survey, error) {
	v := newSurvey()
	for slot, err := range s.Slots() {
		var damaged *schedule.DamagedSlot
		switch {
		case errors.As(err, &damaged):
			v.seen.Damaged++
			v.damaged = append(v.damaged, damaged)
			continue
		case err != nil:
			return nil, err
		}
		v.add(slot, mostFailures)
	}
	v.endBlock()
	return v, nil
}

// grow adds what cfg plans beside the schedule as outstanding.
func (v *survey) grow(cfg *config.Config) {
	for _, k := range cfg.Keys() {
		counts := v.of(k)
		more := cfg.Executions(k) - counts.Total()
		counts.Outstanding += more
		v.seen.Outstanding += more
	}
}

// of is the counts of a key.
func (v *survey) of(k key.Key) *schedule.KeyCounts {
	i, seen := v.at[k]
	if !seen {
		i = len(v.keys)
		v.at[k] = i
		v.keys = append(v.keys, schedule.KeyCounts{Key: k})
	}
	return &v.keys[i]
}

func (v *survey) add(slot schedule.Slot, mostFailures int) {
	v.seen.Add(slot)
	v.of(slot.Key).Add(slot)
	if slot.Key.Arm != "" {
		v.addBlock(slot)
	}
	switch slot.Flag {
	case schedule.Outstanding:
		if v.next == nil {
			v.next = &slot
		}
		return
	case schedule.Running:
		v.running = &slot
		return
	case schedule.Completed:
		recent := append(v.recent[slot.Key], slot)
		v.recent[slot.Key] = recent[max(0, len(recent)-samplesPerKey):]
		v.tail, v.tailed = nil, 0
	case schedule.Error, schedule.Timeout:
		v.failed++
		if len(v.failures) < mostFailures {
			v.failures = append(v.failures, slot)
		}
		v.tailed++
		v.tail = append(v.tail, slot)
		v.tail = v.tail[max(0, len(v.tail)-mostTail):]
	}
	v.last = &slot
}

// left returns the outstanding executions of each key, including the running slot.
func (v *survey) left() []Remaining {
	list := make([]Remaining, 0, len(v.keys))
	for _, k := range v.keys {
		list = append(list, Remaining{Key: k.Key, Count: k.Outstanding + k.Running})
	}
	return list
}

// samples reads the records of the last completed slots. It skips records that cannot be read,
// because `krunctl check` reports them.
func (v *survey) samples(r *results.Reader) []Sample {
	var slots []schedule.Slot
	for _, recent := range v.recent {
		slots = append(slots, recent...)
	}
	slices.SortFunc(slots, func(a, b schedule.Slot) int { return a.Index - b.Index })
	slots = slots[max(0, len(slots)-mostSamples):]
	var samples []Sample
	for _, slot := range slots {
		rec, ok, err := r.Latest(slot.Index, slot.Attempts)
		if err == nil && ok && rec.Outcome == results.Completed {
			samples = append(samples, SampleOf(&rec))
		}
	}
	return samples
}
