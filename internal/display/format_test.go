package display

import (
	"strings"
	"testing"
	"time"

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
