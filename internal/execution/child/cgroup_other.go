//go:build !linux

package child

// RemoveGroup has nothing to remove: there are no control groups.
func RemoveGroup(string) error { return nil }
