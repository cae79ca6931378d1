package msr

// Delta is how far a counter of a width in bits, 1 to 64, went from before to
// after, when it went through zero at most once: libkrun's arithmetic. Bits above
// the width are ignored.
func Delta(before, after uint64, bits int) uint64 {
	return (after - before) & (1<<(bits-1)<<1 - 1)
}
