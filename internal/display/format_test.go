package display

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"krund/rig/must"
)

func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "nbody:C": "nbody:C", "grün 日本": "grün 日本", "\x1b[2J": `\x1b[2J`, "a\tb\nc\r": `a\tb\nc\x0d`,
		"\x00":      `\x00`,
		"\u202eabc": `\u202eabc`, "\u009b": `\u009b`, "\xff\xfe": `\xff\xfe`, "\u00a0": `\u00a0`, "�": "�",
	} {
		must.Equal(t, Terminal(in), want)
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add("a\x1b[31m\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		once := Terminal(s)
		must.Be(t, !strings.ContainsFunc(once, isHidden), s, once)
		must.Equal(t, Terminal(once), once, "becomes")
	})
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 90 * time.Millisecond: "0.1s", 59400 * time.Millisecond: "59s", 90 * time.Second: "1m 30s",
		3599 * time.Second: "59m 59s",
		3*time.Hour + 29*time.Minute + 40*time.Second: "3h 30m", 50 * time.Hour: "2d 2h 0m",
	} {
		must.Equal(t, Duration(d), want, "Duration")
	}
	for ns, want := range map[float64]string{
		0: "0 s", 7: "7.000 ns", 999: "999.0 ns", 1234: "1.234 µs", 12345: "12.35 µs", 123456789: "123.5 ms",
		1e9: "1.000 s", 3.6e12: "3600 s", -1500: "-1.500 µs", 999960: "1.000 ms",
	} {
		must.Equal(t, Nanoseconds(ns), want, "Nanoseconds")
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 30 << 20: "30.0 MiB",
		5 << 40: "5.0 TiB"} {
		must.Equal(t, Bytes(bytes), want)
	}
}

func TestCountAndSeconds(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "slot"): "0 slots", Count(1, "key"): "1 key", Count(12, "key"): "12 keys",
		Seconds(90): "1m 30s", Seconds(3e10): "3e+10s", // more than a time.Duration holds
	} {
		must.Equal(t, got, want)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	Table(&b, []string{"name", ">n", "note"}, [][]string{{"é\x1b", "7", ""}, {"b", "100"}, {"c", "5", "x"}})
	want := "name     n  note\né\\x1b    7\nb      100\nc        5  x\n"
	must.Equal(t, b.String(), want)
}

// TestNarrowTable: columns that do not fit follow below, with the first one again; a column that is
// too wide alone has a part of its own.
func TestNarrowTable(t *testing.T) {
	columns := []string{"key", ">one", ">two", "a long column"}
	rows := [][]string{{"é", "1", "22222", "x"}, {"bb", "10"}}
	const whole = "key  one    two  a long column\né      1  22222  x\nbb    10\n"
	for most, want := range map[int]string{
		0: whole, 30: whole,
		29: "key  one    two\né      1  22222\nbb    10\n\nkey  a long column\né    x\nbb\n",
		15: "key  one    two\né      1  22222\nbb    10\n\nkey  a long column\né    x\nbb\n",
		14: "key  one\né      1\nbb    10\n\nkey    two\né    22222\nbb\n\nkey  a long column\né    x\nbb\n",
	} {
		var b strings.Builder
		NarrowTable(&b, most, 1, columns, rows)
		must.Equal(t, b.String(), want, most, "characters")
	}
	const two = "key  one    two\né      1  22222\nbb    10\n\n" +
		"key  one  a long column\né      1  x\nbb    10\n"
	var b strings.Builder
	if NarrowTable(&b, 26, 2, columns, rows); b.String() != two {
		t.Errorf("two columns name a row:\n%s\nwant\n%s", b.String(), two)
	}
}

func TestText(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 200), strings.Repeat("日本", 33)} {
		must.Equal(t, Clip(s, 200), s, "became")
	}
	for _, s := range []string{strings.Repeat("x", 201), strings.Repeat("日本", 5000),
		"a" + strings.Repeat("日本", 5000), "first" + strings.Repeat("\xff", 5<<20) + "last"} {
		got := Clip(s, 200)
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
		must.Be(t, strings.Contains(Clip(strings.Repeat("ü", 100), most), "bytes left out"), most)
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
		got := ClipLines(c.list, c.count, c.size)
		size := 0
		for _, line := range got {
			size += len(line)
		}
		if len(got) != c.want || size > c.size || len(got) > 0 && got[len(got)-1] != c.last || got == nil {
			t.Errorf("%s: %d lines, %d bytes, the last %q", c.name, len(got), size, got[max(len(got)-1, 0):])
		}
		must.EqualList(t, got, ClipLines(got, c.count, c.size), c.name, "clipped again")
	}
	must.Be(t, ClipLines(nil, 10, 1000) == nil, "nil, which means unknown, became a list")
}

func TestHead(t *testing.T) {
	for s, want := range map[string]string{"": "", "12345": "12345", "123456": "12345...",
		"1234日": "1234..."} {
		must.Equal(t, Head(s, 5), want, "became")
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…fg"}, {"äöüäöüä", 5, "äö…üä"}, {"", 3, ""}} {
		must.Equal(t, Middle(c.text, c.most), c.want, "Middle", c.text, c.most)
	}
}

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
