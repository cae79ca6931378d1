//go:build unix && !rigcut

package durable

// OS returns the FS of the system.
func OS() FS { return system{} }
