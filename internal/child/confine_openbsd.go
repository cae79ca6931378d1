package child

import "errors"

// confine: OpenBSD has no affinity.
func confine([]int) (func() error, error) { return nil, errors.New("this system has no affinity") }

func affinity() []int { return nil }
