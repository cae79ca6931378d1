package display

import (
	"fmt"
	"slices"
	"strings"
)

// Or is a choice: "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Word returns the value that text names: its index in words. kind says in the error what they are.
func Word[T ~int](kind, text string, words []string) (T, error) {
	if i := slices.Index(words, text); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q; write %s", kind, text, Or(words))
}
