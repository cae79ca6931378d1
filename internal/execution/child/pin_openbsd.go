package child

import "errors"

// pinThreads: OpenBSD has no affinity.
func pinThreads([]int) (func() error, error) { return nil, errors.New("this system has no affinity") }

func Affinity() []int { return nil }
