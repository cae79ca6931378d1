package warmup

// This file determines from per-core cycle counts the core on which a benchmark ran, and
// when it migrated (section 5.1 and Figure 2 of the study).
//
// A single-threaded program appears as one core with many cycles and others with very few; a change
// of that core between two iterations is a migration. Iterations in which no core has most of the
// cycles (several threads, or a migration during the iteration) have no main core and are skipped.

// Migration is a change of the main core between two iterations.
type Migration struct {
	Iteration int `json:"iteration"` // the first one, from 1, on the new core
	From      int `json:"from"`
	To        int `json:"to"`
}

// mostly is the minimum share of an iteration's cycles on its main core.
const mostly = 0.5

// findMigrations examines cycles[core][iteration]; names holds the number of each core. All cores
// have the same number of iterations.
func findMigrations(names []int, cycles [][]uint64) Cores {
	r := Cores{Main: -1, Moves: []Migration{}}
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
			r.Moves = append(r.Moves, Migration{Iteration: i + 1, From: names[last], To: names[c]})
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

// mainCore returns the index of the core with most of iteration i's cycles, or -1.
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
