//go:build !linux

package command

import "os"

// byDescriptor returns the path of an open file: this system executes nothing else. Nobody who
// could put another file in its place passes Cmd.Trust.
func byDescriptor(_ *os.File, path string) string { return path }
