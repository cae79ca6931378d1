//go:build !linux

package probe

func askKernel(Fingerprint) {}

// TSCKHz is 0: unknown.
func TSCKHz() int64 { return 0 }
