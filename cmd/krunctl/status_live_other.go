//go:build !linux

package main

// iterationsOfProcess finds nothing: other systems do not let a process open another one's buffer.
func iterationsOfProcess(int) (done, planned int, ok bool) { return 0, 0, false }
