package probe

import (
	"context"
	"time"
)

// Clock provides the time and sleeps. Now must return a monotonic reading, because waiting is
// bounded in real time.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's error if that ends first.
	Sleep(ctx context.Context, d time.Duration) error
}
