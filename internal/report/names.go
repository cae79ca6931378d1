package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// longName is the number of letters from which a benchmark's name is shortened.
const longName = 32

// shortNames returns the benchmarks' names as tables show them: packages of long names are
// shortened to their first letters, as JMH does ("o.a.c.math3.FastSin.sin"), unless different
// benchmarks would then look the same.
func shortNames(doc *warmup.Document) map[string]string {
	short, owner := map[string]string{}, map[string]string{}
	clash := false
	for i := range doc.Pairs {
		name := doc.Pairs[i].Benchmark
		s := shortName(display.PlainLine(name))
		if other, ok := owner[s]; ok && other != name {
			clash = true
		}
		short[name], owner[s] = s, name
	}
	if clash {
		for name := range short {
			short[name] = display.PlainLine(name)
		}
	}
	return short
}

// shortName shortens the leading parts of a long name that look like packages: lower case, ending
// in a dot.
func shortName(name string) string {
	parts := strings.Split(name, ".")
	for i := 0; i < len(parts)-2 && utf8.RuneCountInString(strings.Join(parts, ".")) > longName; i++ {
		first, size := utf8.DecodeRuneInString(parts[i])
		if size == len(parts[i]) {
			continue
		}
		if !unicode.IsLower(first) {
			break
		}
		parts[i] = string(first)
	}
	return strings.Join(parts, ".")
}
