package display

import (
	"testing"

	"krund/rig/must"
)

func TestPlainText(t *testing.T) {
	for _, test := range []struct{ name, text, line, whole string }{
		{"plain", "checksum 1 ≠ 2, é", "checksum 1 ≠ 2, é", "checksum 1 ≠ 2, é"},
		{"escape sequence", "\x1b[2J", "\uFFFD[2J", "\uFFFD[2J"},
		{"the same in one character", "\u009b2J", "\uFFFD2J", "\uFFFD2J"},
		{"line ends and tabs", "a\n\tb\r\v", "a\uFFFD\uFFFDb\uFFFD\uFFFD", "a\n\tb\uFFFD\uFFFD"},
		{"zero byte, bell, delete", "\x00\a\x7f", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD"},
		{"direction marks", "a\u202eb\u2066", "a\uFFFDb\uFFFD", "a\uFFFDb\uFFFD"},
		{"line and paragraph separators", "\u2028\u2029", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"nothing to see", "\u200b\ufeff", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"broken UTF-8", "\xff\xc3", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
	} {
		must.Equal(t, PlainLine(test.text), test.line, test.name, "line")
		if got := Plain(test.text); got != test.whole || Printable(test.text) != (test.text == test.whole) {
			t.Errorf("%s: text %q, want %q; printable %t", test.name, got, test.whole, Printable(test.text))
		}
	}
}
