//go:build !linux

package host

import "errors"

// BindThread fails, because OpenBSD has no call for binding threads.
func BindThread(int) (unbind func(), err error) {
	return nil, errors.New("threads cannot be bound to a CPU on this system")
}
