package libkrun

import (
	"testing"

	"krund/rig/must"
)

// TestSealed checks that the size of the memory cannot be changed.
func TestSealed(t *testing.T) {
	b := must.Get(Create(Spec{Iterations: 10}))(t)
	t.Cleanup(func() { _ = b.Close() })
	info := must.Get(b.File().Stat())(t)
	for _, size := range []int64{0, info.Size() - 1, info.Size() + 1} {
		err := b.File().Truncate(size)
		must.Be(t, err != nil, "the size could be changed from", info.Size(), "to", size)
	}
}
