package display_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"krund/internal/display"
	"krund/rig/must"
)

func TestText(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 200), strings.Repeat("日本", 33)} {
		must.Equal(t, display.Clip(s, 200), s, "became")
	}
	for _, s := range []string{strings.Repeat("x", 201), strings.Repeat("日本", 5000),
		"a" + strings.Repeat("日本", 5000), "first" + strings.Repeat("\xff", 5<<20) + "last"} {
		got := display.Clip(s, 200)
		head, rest, ok := strings.Cut(got, "[... ")
		count, tail, ok2 := strings.Cut(rest, " bytes left out ...]")
		var missing int
		_, err := fmt.Sscan(count, &missing)
		if !ok || !ok2 || err != nil || len(got) > 200 || len(head)+missing+len(tail) != len(s) ||
			!strings.HasPrefix(s, head) ||
			!strings.HasSuffix(s, tail) {
			t.Errorf("%.20q... became %q", s, got)
		}
		must.Be(t, !utf8.ValidString(s) || utf8.ValidString(got), got, "is not UTF-8")
	}
}

// TestClipShort: less than the remark leaves the remark; nothing is out of range.
func TestClipShort(t *testing.T) {
	for most := range 70 {
		must.Be(t, strings.Contains(display.Clip(strings.Repeat("ü", 100), most), "bytes left out"), most)
	}
}

func TestLines(t *testing.T) {
	many := make([]string, 4096)
	for i := range many {
		many[i] = fmt.Sprintf("process %d (sh) of the benchmark cannot be killed: state D", i)
	}
	for _, c := range []struct {
		name        string
		list        []string
		count, size int
		want        int // lines
		last        string
	}{
		{"all", many[:3], 3, 1000, 3, many[2]},
		{"one too many", many[:4], 3, 1000, 3, "2 more of these were left out"},
		{"far too many", many, 100, 1 << 20, 100, "3997 more of these were left out"},
		{"too long", many, 5000, 1000, 17, "4080 more of these were left out"},
		{"one too long", []string{"a", strings.Repeat("x", 1<<20), "b"}, 10, 4000, 3, "b"},
		{"none", []string{}, 10, 1000, 0, ""},
	} {
		got := display.ClipLines(c.list, c.count, c.size)
		size := 0
		for _, line := range got {
			size += len(line)
		}
		if len(got) != c.want || size > c.size || len(got) > 0 && got[len(got)-1] != c.last || got == nil {
			t.Errorf("%s: %d lines, %d bytes, the last %q", c.name, len(got), size, got[max(len(got)-1, 0):])
		}
		must.EqualList(t, got, display.ClipLines(got, c.count, c.size), c.name, "clipped again")
	}
	must.Be(t, display.ClipLines(nil, 10, 1000) == nil, "nil, which means unknown, became a list")
}

func TestHead(t *testing.T) {
	for s, want := range map[string]string{"": "", "12345": "12345", "123456": "12345...",
		"1234日": "1234..."} {
		must.Equal(t, display.Head(s, 5), want, "became")
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…fg"}, {"äöüäöüä", 5, "äö…üä"}, {"", 3, ""}} {
		must.Equal(t, display.Middle(c.text, c.most), c.want, "Middle", c.text, c.most)
	}
}
