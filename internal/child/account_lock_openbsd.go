package child

// removeStaleLocks has nothing to do: the lock of this system's user database names no owner that could be looked for.
func (accountMaker) removeStaleLocks() error { return nil }
