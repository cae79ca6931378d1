package account

// removeStaleLocks does nothing: the lock of this system's user database does not name its owner.
func (maker) removeStaleLocks() error { return nil }
