package warmup

import (
	"fmt"
	"testing"

	"krund/rig/must"
)

func TestMigrations(t *testing.T) {
	for _, c := range []struct {
		name   string
		cores  []int
		cycles [][]uint64
		want   string // main, share, spread, moves
	}{
		{"no cores", nil, nil, "{-1 0 0 []}"},
		{"no iterations", []int{0}, [][]uint64{{}}, "{-1 0 0 []}"},
		{"stays", []int{0, 3}, [][]uint64{{1, 2, 1}, {900, 900, 900}}, "{3 1 0 []}"},
		{"moves away and back", []int{1, 2}, [][]uint64{{9, 9, 0, 9}, {0, 1, 9, 1}},
			"{1 0.75 0 [{3 1 2} {4 2 1}]}"},
		{"two threads", []int{0, 1}, [][]uint64{{5, 9, 5, 9}, {5, 1, 5, 1}}, "{0 0.5 0.5 []}"},
		{"a move through a shared iteration", []int{0, 1}, [][]uint64{{9, 5, 0, 0}, {0, 5, 9, 9}},
			"{1 0.5 0.25 [{3 0 1}]}"},
		{"all idle", []int{0, 1}, [][]uint64{{0, 0}, {0, 0}}, "{-1 0 1 []}"},
		{"counters near their end", []int{0, 1}, [][]uint64{{1<<64 - 1}, {1}}, "{0 1 0 []}"},
	} {
		must.Equal(t, fmt.Sprint(findMigrations(c.cores, c.cycles)), c.want, c.name)
	}
}
