package boot

import "testing"

// TestReadOffset: two readings of a machine that is awake overlap.
func TestReadOffset(t *testing.T) {
	before, err := ReadOffset()
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadOffset()
	if err != nil || suspended(before, after) != 0 || before.Most < before.Least {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
}
