// Package clock is the real time, for everything that takes the time as a parameter. It is the one place where the program asks the system for it.
// It decides nothing and stores nothing. Start reading at Real.
package clock

import (
	"context"
	"time"
)

// Real is the system's clock.
type Real struct{}

// Now is the wall clock with a monotonic reading.
func (Real) Now() time.Time { return time.Now() }

// Sleep returns nil after d, or ctx's error as soon as ctx ends. With d of zero or less it only looks at ctx.
func (Real) Sleep(ctx context.Context, d time.Duration) error {
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
