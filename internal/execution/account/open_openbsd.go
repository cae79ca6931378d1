package account

// openBelow opens a directory inside another, on the same mount. This system has no bind mounts.
func openBelow(dir int, name string) (int, error) { return openOnDevice(dir, name) }

// permitWriting has nothing to do: the system has no subvolumes.
func (d *directory) permitWriting() {}

// directories returns further entries, and none at the end.
func (d *directory) directories() ([]string, error) { return d.read(batch) }
