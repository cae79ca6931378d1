package probe

import (
	"context"
	"time"
)

// Clock tells the time and lets it pass. Now must carry a monotonic reading: waiting is bounded in real time, which goes on while the
// process sleeps.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's error when that ends first.
	Sleep(ctx context.Context, d time.Duration) error
}
