package summary

import (
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestBlocks counts the blocks of two keys with three arms each: flags are those of the slots in
// the order of the schedule.
func TestBlocks(t *testing.T) {
	for flags, want := range map[string]BlockCounts{
		"CCC CCC CCC CCC": {Total: 4, Complete: 4},
		"CCC CEC CCS TTT": {Total: 4, Complete: 1, Incomplete: 3},
		"CCC CRO OOO OOO": {Total: 4, Complete: 1},
		"CCC ERC OEC OOO": {Total: 4, Complete: 1},
	} {
		v := &survey{recent: map[key.Key][]schedule.Slot{}, at: map[key.Key]int{}}
		index := 0
		for _, flag := range flags {
			if flag == ' ' {
				continue
			}
			v.add(schedule.Slot{Index: index, Flag: schedule.Flag(flag), Pexec: 1 + index/6,
				Key: key.Key{Benchmark: "ab"[index/3%2 : index/3%2+1], VM: "C", Variant: "v",
					Arm: "xyz"[index%3 : index%3+1]}}, 0)
			index++
		}
		v.endBlock()
		must.Be(t, v.blocks != nil && *v.blocks == want, flags, v.blocks, "want", want)
	}
	none := &survey{recent: map[key.Key][]schedule.Slot{}, at: map[key.Key]int{}}
	none.add(schedule.Slot{Flag: schedule.Completed, Key: key.Key{Benchmark: "a"}}, 0)
	if none.endBlock(); none.blocks != nil {
		t.Errorf("without arms: %+v", none.blocks)
	}
}
