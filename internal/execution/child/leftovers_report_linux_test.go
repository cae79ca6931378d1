package child

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyCannotBeKilled: thousands of processes that cannot be killed are not thousands of
// findings in each record.
func TestManyCannotBeKilled(t *testing.T) {
	f := &processTree{main: 3, reaped: true}
	for i := range 4096 {
		f.unkillable = append(f.unkillable, proc{PID: 100 + i, State: 'D', Name: "x"})
	}
	got := f.leftovers()
	if len(got) != mostNamed+1 || !strings.HasPrefix(got[0],
		"process 100 (x) of the benchmark cannot be killed: state D") {
		t.Fatalf("%d findings, the first is %q", len(got), got[0])
	}
	if last, want := got[mostNamed], fmt.Sprintf("%d more processes of the benchmark cannot be killed",
		4096-mostNamed); last != want {
		t.Errorf("the last is %q, want %q", last, want)
	}
	if f.unkillable = f.unkillable[:mostNamed]; len(f.leftovers()) != mostNamed {
		t.Errorf("%q", f.leftovers())
	}
}
