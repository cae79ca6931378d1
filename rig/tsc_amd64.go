package rig

import (
	"fmt"
	"sync"
	"time"
)

func rdtsc() uint64

// tscArgument tells the guest's kernel how fast the time-stamp counter runs. The emulator shows the
// guest that of the host. The kernel would measure it at boot against an emulated timer, and be
// wrong by any factor when the host is busy at that moment: then all timeouts of that boot are
// wrong, too.
func tscArgument() string { return fmt.Sprintf("tsc_early_khz=%d ", hostTSC()) }

// hostTSC returns the frequency of the host's time-stamp counter in kHz.
var hostTSC = sync.OnceValue(func() uint64 {
	from, begin := tscNow()
	time.Sleep(100 * time.Millisecond)
	to, end := tscNow()
	return (to - from) * uint64(time.Millisecond) / uint64(end.Sub(begin))
})

// tscNow reads counter and clock together: the pair that took the shortest of several tries.
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
