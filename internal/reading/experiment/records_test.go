package experiment

import (
	"path/filepath"
	"slices"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestRecordsThatCount: of each slot the first completed record counts, also when it is read again;
// a record that contradicts itself is left out in each pass.
func TestRecordsThatCount(t *testing.T) {
	a := key.Key{Benchmark: "fasta", VM: "C", Variant: "default-c"}
	b := key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}
	doubtful := record(b, 3, 1, 2, results.Completed)
	doubtful.Iterations = 1 // it has two
	d := created(t, filepath.Join(t.TempDir(), "test.krun"), "",
		record(a, 0, 1, 1, results.Rerun), record(a, 0, 2, 1, results.Completed),
		record(a, 0, 3, 1, results.Completed),
		record(b, 1, 1, 1, results.Error), record(a, 2, 1, 2, results.Completed), doubtful)
	for _, test := range []struct {
		pattern string
		all     []results.Name
		count   []results.Name
		damaged int
	}{
		{"", []results.Name{{Slot: 0, Attempt: 1}, {Slot: 0, Attempt: 2}, {Slot: 0, Attempt: 3},
			{Slot: 1, Attempt: 1},
			{Slot: 2, Attempt: 1}}, []results.Name{{Slot: 0, Attempt: 2}, {Slot: 2, Attempt: 1}}, 1},
		{"nbody:*:*", []results.Name{{Slot: 1, Attempt: 1}}, nil, 1},
	} {
		pattern, err := ParsePattern(test.pattern)
		must.Do(t, err)
		left := 0
		records, err := Experiment{d}.Records(pattern, "bencher5", func(error) { left++ })
		must.Do(t, err)
		for pass := 1; pass <= 2; pass++ {
			var all, count []results.Name
			for r := range records.Whole() {
				all = append(all, results.Name{Slot: r.Slot, Attempt: r.Attempt})
			}
			for r := range records.Counting() {
				count = append(count, results.Name{Slot: r.Slot, Attempt: r.Attempt})
			}
			must.Be(t, slices.Equal(all, test.all) && slices.Equal(count, test.count) &&
				records.Damaged == test.damaged && left == 2*pass*test.damaged, test.pattern, count, all,
				records.Damaged, left, pass)
		}
	}
}
