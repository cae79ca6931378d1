package selftest

import (
	"testing"

	"krund/rig"
)

// TestPace measures this host before the suites run, to scale their limits. It uses one start.
func TestPace(t *testing.T) { rig.Calibrate(t) }
