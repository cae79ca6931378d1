package exchange

import (
	"math"
	"testing"

	"krund/rig/must"
)

func TestSecondsTextIsExact(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0.000000000", 1: "0.000000001", 1_234_567_890: "1.234567890", -1: "-0.000000001",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808",
	} {
		must.Equal(t, secondsText(ns), want)
	}
}
