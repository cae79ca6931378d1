//go:build !linux

package command

// Expendable does nothing.
func Expendable(int) {}
