package libkrun

import "testing"

// TestSealed checks that the size of the memory cannot be changed.
func TestSealed(t *testing.T) {
	b, err := Create(Spec{Iterations: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	info, err := b.File().Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, info.Size() - 1, info.Size() + 1} {
		if err := b.File().Truncate(size); err == nil {
			t.Errorf("the size could be changed from %d to %d", info.Size(), size)
		}
	}
}
