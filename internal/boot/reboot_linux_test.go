package boot

import (
	"testing"

	"krund/rig/must"
)

// TestReadOffset: two readings of a machine that is awake overlap.
func TestReadOffset(t *testing.T) {
	before := must.Get(ReadOffset())(t)
	after, err := ReadOffset()
	must.Be(t, err == nil && suspended(before, after) == 0 && before.Most >= before.Least, before, "then",
		after, err)
}
