// Package migration says from per-core cycle counts on which core a benchmark ran, and when it
// moved (section 5.1 and Figure 2 of the study).
//
// A single-threaded program shows as one core with many cycles and others with very few; a change
// of that core between two iterations is a migration. Iterations in which no core has most of the
// cycles (several threads, or a move in the middle) have no main core and end no migration.
package migration

// Move is a change of the main core between two iterations.
type Move struct {
	Iteration int `json:"iteration"` // the first one, from 1, on the new core
	From      int `json:"from"`
	To        int `json:"to"`
}

// Result is what the counts say.
type Result struct {
	// Main is the core that was the main one in most iterations; -1 for none.
	Main int
	// Share is the part of the iterations that had Main as their main core.
	Share float64
	// Spread is the part of the iterations without a main core.
	Spread float64
	// Moves are the migrations in order.
	Moves []Move
}

// mostly is the part of an iteration's cycles a main core has at least.
const mostly = 0.5

// Find examines cycles[core][iteration]; names gives the number of each core. The cores have
// equally many iterations.
func Find(names []int, cycles [][]uint64) Result {
	r := Result{Main: -1}
	if len(cycles) == 0 || len(cycles[0]) == 0 {
		return r
	}
	n := len(cycles[0])
	count := make([]int, len(cycles))
	last, spread := -1, 0
	for i := range n {
		c := mainCore(cycles, i)
		if c < 0 {
			spread++
			continue
		}
		count[c]++
		if last >= 0 && c != last {
			r.Moves = append(r.Moves, Move{Iteration: i + 1, From: names[last], To: names[c]})
		}
		last = c
	}
	most := 0
	for c, k := range count {
		if k > most {
			most, r.Main = k, names[c]
		}
	}
	r.Share = float64(most) / float64(n)
	r.Spread = float64(spread) / float64(n)
	return r
}

// mainCore gives the index of the core with most of iteration i's cycles, or -1.
func mainCore(cycles [][]uint64, i int) int {
	total, best := 0.0, 0
	for c := range cycles {
		total += float64(cycles[c][i])
		if cycles[c][i] > cycles[best][i] {
			best = c
		}
	}
	if float64(cycles[best][i]) > mostly*total {
		return best
	}
	return -1
}
