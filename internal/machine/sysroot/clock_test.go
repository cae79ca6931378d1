package sysroot

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"krund/rig/must"
)

func TestSleepLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := RealClock{}.Now()
		must.Do(t, (RealClock{}).Sleep(t.Context(), 3*time.Minute))
		if took := (RealClock{}).Now().Sub(began); took != 3*time.Minute {
			t.Errorf("slept %s", took)
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := (RealClock{}).Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("slept %s", took)
		}
	})
}

func TestSleepOfZeroChecksTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	must.Do(t, (RealClock{}).Sleep(ctx, 0))
	cancel()
	if err := (RealClock{}).Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
