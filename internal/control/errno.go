package control

import (
	"errors"
	"io/fs"
	"syscall"

	"krund/internal/display"
)

// gone reports whether an error means that a process or file no longer exists.
func gone(err error) bool { return errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist) }

// busy reports whether an error means that something is in use.
func busy(err error) bool { return errors.Is(err, syscall.EBUSY) }

// clip shortens a text for a message.
func clip(text string) string { return display.Head(text, 80) }
