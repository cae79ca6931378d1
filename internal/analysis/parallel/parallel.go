// Package parallel runs independent computations on several goroutines. Start reading at [Each].
package parallel

import (
	"sync"
	"sync/atomic"
)

// Each calls do(0) to do(n-1) on the given number of goroutines; below 2 in order, on this one.
func Each(n, workers int, do func(i int)) {
	if workers < 2 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// Counted is Each for work in progress: do returns how much it did, and after each call done, which
// may be nil, is told the sum. Its calls do not overlap.
func Counted(n, workers int, done func(sum int), do func(i int) int) {
	var lock sync.Mutex
	sum := 0
	Each(n, workers, func(i int) {
		part := do(i)
		lock.Lock()
		defer lock.Unlock()
		sum += part
		if done != nil {
			done(sum)
		}
	})
}
