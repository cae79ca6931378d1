package display

import (
	"testing"

	"krund/rig/must"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two  three", 20, "one two  three"},
		{"one two three four", 9, "one two\n__three\n__four"},
		{"    one two three", 11, "    one two\n__three"},
		{"one ± µs three", 8, "one ± µs\n__three"},
		{"abcdefghij kl", 5, "abcdefghij\n__kl"},
		{"one two", 0, "one two"},
	} {
		must.Equal(t, Wrap(test.text, test.width, "__"), test.want, test.text, test.width)
	}
}
