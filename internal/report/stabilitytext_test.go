package report

import "testing"

func TestStepText(t *testing.T) {
	for step, want := range map[string]string{"1": "1 iteration", "2": "2 iterations",
		"11": "11 iterations"} {
		if got := stepText(step); got != want {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
}
