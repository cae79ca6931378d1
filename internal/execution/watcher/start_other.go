//go:build !linux

package watcher

// Process is a running watcher.
type Process struct{ UID int }

// Start returns ErrUnsupported.
func Start(Options) (*Process, error) { return nil, ErrUnsupported }

// End does nothing.
func (*Process) End() Report { return Report{} }

// Harden does nothing.
func Harden() {}
