package probe

import (
	"context"
	"runtime"
	"sync"
	"time"

	"krund/internal/machine/sysroot"
)

// Heat keeps every CPU that this process may use busy for d of the given clock, or until ctx ends,
// and then returns its error.
func Heat(ctx context.Context, clock sysroot.Clock, d time.Duration) error {
	end := clock.Now().Add(d)
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for ctx.Err() == nil && clock.Now().Before(end) {
				runtime.KeepAlive(Spin(1 << 20))
			}
		})
	}
	all.Wait()
	return ctx.Err()
}
