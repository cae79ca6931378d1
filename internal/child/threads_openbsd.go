package child

// OpenBSD does not tell of single threads without kvm(3).
func ownThreads() map[int]thread    { return nil }
func kernelThreads() map[int]thread { return nil }
