package child

// OpenBSD gives no information on single threads without kvm(3).
func ownThreads() map[int]thread    { return nil }
func kernelThreads() map[int]thread { return nil }
