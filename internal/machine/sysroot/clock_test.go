package sysroot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"krund/rig/must"
)

func TestSleepLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := RealClock{}.Now()
		must.Do(t, (RealClock{}).Sleep(t.Context(), 3*time.Minute))
		must.Equal(t, (RealClock{}).Now().Sub(began), 3*time.Minute, "slept")
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		must.Fail(t, (RealClock{}).Sleep(ctx, time.Hour), context.DeadlineExceeded, "error",
			"want the context's")
		must.Equal(t, time.Since(began), time.Second, "slept")
	})
}

func TestSleepOfZeroChecksTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	must.Do(t, (RealClock{}).Sleep(ctx, 0))
	cancel()
	must.Fail(t, (RealClock{}).Sleep(ctx, 0), context.Canceled, "error", "want context.Canceled")
}
