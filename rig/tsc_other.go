//go:build !amd64

package rig

// tscArgument returns "": the emulator's time-stamp counter is not that of the host.
func tscArgument() string { return "" }
