//go:build !linux && !openbsd

package control

// Controls returns nothing: krund controls Linux and OpenBSD.
func Controls(Settings) []Control { return nil }

// Environment returns nothing.
func Environment(Settings) []string { return nil }
