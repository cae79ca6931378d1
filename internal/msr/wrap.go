package msr

// Delta is the increase of a counter, bits wide (1 to 64), from before to after, if it wrapped
// around at most once: libkrun's arithmetic. Bits above the width are ignored.
func Delta(before, after uint64, bits int) uint64 {
	return (after - before) & (1<<(bits-1)<<1 - 1)
}
