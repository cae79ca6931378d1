//go:build !amd64

package rig

// tscArgument is empty: the emulator's time-stamp counter is not one of this host.
func tscArgument() string { return "" }
