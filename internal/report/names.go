package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// longName is the number of letters of a benchmark's name from which packages are shortened.
const longName = 32

// shortNames returns names of benchmarks as tables show them: if one is long, the packages of all
// are shortened to their first letters, as JMH does ("o.a.c.m.FastSin.sin"), unless different
// benchmarks would then look the same.
func shortNames(names []string) map[string]string {
	short, plain, owner := map[string]string{}, map[string]string{}, map[string]string{}
	long, clash := false, false
	for _, name := range names {
		plain[name] = display.PlainLine(name)
		s := shortName(plain[name])
		if other, ok := owner[s]; ok && other != name {
			clash = true
		}
		short[name], owner[s] = s, name
		long = long || utf8.RuneCountInString(plain[name]) > longName
	}
	if clash || !long {
		return plain
	}
	return short
}

// benchmarks returns the names of a document's benchmarks.
func benchmarks(doc *warmup.Document) []string {
	names := make([]string, len(doc.Pairs))
	for i := range doc.Pairs {
		names[i] = doc.Pairs[i].Benchmark
	}
	return names
}

// shortName shortens the leading parts of a name that look like packages: lower case, before the
// last two.
func shortName(name string) string {
	parts := strings.Split(name, ".")
	for i := range max(len(parts)-2, 0) {
		first, _ := utf8.DecodeRuneInString(parts[i])
		if !unicode.IsLower(first) {
			break
		}
		parts[i] = string(first)
	}
	return strings.Join(parts, ".")
}
