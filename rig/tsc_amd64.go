package rig

import (
	"fmt"
	"sync"
	"time"
)

func rdtsc() uint64

// tscArgument passes the frequency of the time-stamp counter to the guest's kernel. The emulator
// exposes the host's counter to the guest. The kernel would measure it at boot against an emulated
// timer, with an arbitrarily large error if the host is busy at that moment, and all timeouts of
// that boot would be wrong.
func tscArgument() string { return fmt.Sprintf("tsc_early_khz=%d ", hostTSC()) }

// hostTSC returns the frequency of the host's time-stamp counter in kHz.
var hostTSC = sync.OnceValue(func() uint64 {
	from, begin := tscNow()
	time.Sleep(100 * time.Millisecond)
	to, end := tscNow()
	return (to - from) * uint64(time.Millisecond) / uint64(end.Sub(begin))
})

// tscNow reads the counter and the clock together: it returns the pair that took the shortest time
// out of several tries.
func tscNow() (counter uint64, now time.Time) {
	shortest := ^uint64(0)
	for range 100 {
		before := rdtsc()
		t := time.Now()
		if after := rdtsc(); after-before < shortest {
			shortest, counter, now = after-before, before+(after-before)/2, t
		}
	}
	return counter, now
}
