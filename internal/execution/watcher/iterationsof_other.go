//go:build !linux

package watcher

// IterationsOf finds nothing: other systems do not let a process open another one's buffer.
func IterationsOf(int) (done, planned int, ok bool) { return 0, 0, false }
