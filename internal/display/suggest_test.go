package display_test

import (
	"testing"

	"krund/internal/display"
	"krund/rig/must"
)

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"heap", "heap", 0}, {"heep", "heap", 1},
		{"haep", "heap", 1}, {"hap", "heap", 1},
		// optimal string alignment: a swapped pair is not edited again
		{"kitten", "sitting", 3}, {"ca", "abc", 3},
	}
	for _, test := range tests {
		must.Equal(t, display.Distance(test.a, test.b), test.want, test.a, test.b)
		must.Equal(t, display.Distance(test.b, test.a), test.want, test.b, test.a)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"iterations", "executions", "order", "name"}
	tests := []struct{ name, want string }{
		{"iteration", "iterations"}, {"ITERATIONS", "iterations"}, {"itreations", "iterations"},
		{"excutions", "executions"}, {"odrer", "order"},
		{"nam", "name"}, {"heap", ""}, {"x", ""}, {"", ""},
	}
	for _, test := range tests {
		got, ok := display.Nearest(test.name, keys)
		must.Be(t, got == test.want && ok == (test.want != ""), test.name, got, ok, "want", test.want)
	}
}
