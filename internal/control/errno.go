package control

import (
	"errors"
	"io/fs"
	"syscall"
)

// gone reports whether an error means that a process or file no longer exists.
func gone(err error) bool { return errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist) }

// busy reports whether an error means that something is in use.
func busy(err error) bool { return errors.Is(err, syscall.EBUSY) }

// clip shortens a text for a message.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
