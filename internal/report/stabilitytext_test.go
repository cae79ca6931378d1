package report

import (
	"testing"

	"krund/rig/must"
)

func TestStepText(t *testing.T) {
	for step, want := range map[string]string{"1": "1 iteration", "2": "2 iterations",
		"11": "11 iterations"} {
		must.Equal(t, stepText(step), want)
	}
}
