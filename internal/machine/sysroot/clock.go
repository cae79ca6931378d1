package sysroot

import (
	"context"
	"time"
)

// A Clock is the time and waiting. Tests pass one that does not wait.
type Clock interface {
	// Now is the wall clock. It must carry a monotonic reading: waiting is bounded in real time.
	Now() time.Time
	// Sleep returns nil after d, or ctx's error as soon as ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the system's clock.
type RealClock struct{}

// Now returns the wall clock time with a monotonic reading.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep returns nil after d, or ctx's error as soon as ctx is done. If d is not positive, it only
// checks ctx.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
