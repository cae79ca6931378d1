package config

import (
	"slices"

	"krund/internal/display"
)

// orList formats a choice of quoted names: "a", "b" or "c".
func orList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = `"` + name + `"`
	}
	return display.Or(quoted)
}

// didYouMean returns advice for an unknown name: the nearest known name, all known names if there
// are few, or otherwise.
func didYouMean(name string, known []string, otherwise string) string {
	if near, ok := display.Nearest(name, known); ok {
		return `did you mean "` + near + `"?`
	}
	if n := len(known); n > 0 && n <= 6 {
		return "write " + orList(slices.Clone(known))
	}
	return otherwise
}
