package child

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func keep(limit int64, pieces ...string) results.Output {
	k := newHeadTailBuffer(limit)
	for _, p := range pieces {
		k.write([]byte(p))
	}
	return k.output()
}

func TestHeadTailBuffer(t *testing.T) {
	for name, c := range map[string]struct {
		limit  int64
		pieces []string
		want   results.Output
	}{
		"nothing":  {10, nil, results.Output{}},
		"a little": {10, []string{"abc"}, results.Output{Text: "abc", Bytes: 3}},
		"just all": {10, []string{"abcde", "fghij"}, results.Output{Text: "abcdefghij", Bytes: 10}},
		"one too many": {10, []string{"abcde", "fghijk"},
			results.Output{Text: "abcde\n[... 1 bytes left out ...]\nghijk", Bytes: 11, Truncated: true}},
		"at once": {4, []string{"abcdefghijklmnop"},
			results.Output{Text: "ab\n[... 12 bytes left out ...]\nop", Bytes: 16, Truncated: true}},
		"byte by byte": {5, strings.Split("abcdefghijkl", ""),
			results.Output{Text: "ab\n[... 7 bytes left out ...]\njkl", Bytes: 12, Truncated: true}},
		"limit of one": {1, []string{"abc", "def"},
			results.Output{Text: "\n[... 5 bytes left out ...]\nf", Bytes: 6, Truncated: true}},
		"invalid": {10, []string{"a\xff\xfeb\xc3"},
			results.Output{Text: "a\uFFFDb\uFFFD", Bytes: 5}},
		"split in two": {10, []string{"\xc3", "\xa4"}, results.Output{Text: "ä", Bytes: 2, Truncated: false}},
		"cut characters": {8, []string{"abcä---", "äxyz"},
			results.Output{Text: "abc\n[... 7 bytes left out ...]\nxyz", Bytes: 13, Truncated: true}},
		"zero bytes": {10, []string{"a\x00b"}, results.Output{Text: "a\x00b", Bytes: 3, Truncated: false}},
	} {
		must.Equal(t, keep(c.limit, c.pieces...), c.want, name)
	}
}

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
