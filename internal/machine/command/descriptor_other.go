//go:build !linux

package command

import "os"

// Self returns a path of the running program.
func Self() (string, error) { return os.Executable() }

// byDescriptor returns the path of an open file, because this system cannot execute a descriptor.
// Only users whom Cmd.Trust accepts can replace the file.
func byDescriptor(_ *os.File, path string) string { return path }
