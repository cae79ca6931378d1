package account

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"krund/rig/must"
)

// partName is Args[0] of a copy of the test binary that runs partFresh.
const partName = "krund-test-fresh"

func TestMain(m *testing.M) {
	Stage()
	if os.Args[0] == partName {
		os.Exit(partFresh())
	}
	os.Exit(m.Run())
}

// checkDead fails the test if a process of the machine has marker among its arguments.
func checkDead(t *testing.T, marker string) {
	t.Helper()
	files := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, f := range files {
		text, err := os.ReadFile(f)
		must.Be(t, err != nil || !bytes.Contains(text, []byte(marker)), "still alive", f, text)
	}
}

// newMarker returns an argument for sleep(1) that no other process uses and that outlasts the test.
func newMarker(n int) string { return fmt.Sprintf("%d.%d", 100000+os.Getpid(), n) }
