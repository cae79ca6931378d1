package account

// removeStaleLocks has nothing to do: the lock of this system's user database names no owner that could be looked for.
func (maker) removeStaleLocks() error { return nil }
