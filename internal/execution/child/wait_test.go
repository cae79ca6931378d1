package child

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"krund/rig/must"
)

// FuzzHeadTailBuffer checks the laws: the text is valid, short, and begins and ends as the stream
// does, however it was cut up.
func FuzzHeadTailBuffer(f *testing.F) {
	f.Add([]byte("hello, world"), uint8(5), uint8(3))
	f.Add([]byte("äöü\xff\x80€€€€"), uint8(7), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, limit, step uint8) {
		k := newHeadTailBuffer(int64(limit) + 1)
		for piece := range chunks(text, int(step)+1) {
			k.write(piece)
		}
		got := k.output()
		must.Need(t, got.Bytes == int64(len(text)) && got.Truncated == (len(text) > int(limit)+1) &&
			utf8.ValidString(got.Text), "limit", int(limit)+1, got)
		must.Need(t, len(k.head)+len(k.tail) <= int(limit)+1, "keeps", len(k.head), "and", len(k.tail),
			"bytes of", int(limit)+1)
		if !got.Truncated {
			must.Need(t, got.Text == strings.ToValidUTF8(string(text), "\uFFFD"), got.Text, "for", text)
			return
		}
		if !utf8.Valid(text) {
			return // which replacements a cut makes is not specified
		}
		first, last, _ := strings.Cut(got.Text, "\n[... ")
		missing := 0
		mark := strings.LastIndex(last, " bytes left out ...]\n")
		if _, err := fmt.Sscanf(last, "%d", &missing); err != nil || mark < 0 {
			return // the text itself contains the mark
		}
		last = last[mark+len(" bytes left out ...]\n"):]
		must.Need(t, bytes.HasPrefix(text, []byte(first)) && bytes.HasSuffix(text, []byte(last)) &&
			len(first)+len(last)+missing == len(text), got.Text, "for", text)
	})
}

// chunks cuts b into pieces of n bytes.
func chunks(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			piece := b[:min(n, len(b))]
			if !yield(piece) {
				return
			}
			b = b[len(piece):]
		}
	}
}
