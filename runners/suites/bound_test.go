package suites

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"krund/rig/must"
)

// TestMostListed: directories are not listed without an end, however deep they are.
func TestMostListed(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	must.Do(t, root.Mkdir("a", 0o755))
	must.Do(t, root.Mkdir("a/b", 0o755))
	err := readGo(&tree{root: root, left: mostRead, seen: mostListed - 1}, &Found{})
	must.Be(t, err != nil && strings.Contains(err.Error(), "more than 100000 entries, up to a"), err)
}

// TestManyParameters: a line of 8 MB can have a million parameters of one value, which would be
// copied once for each.
func TestManyParameters(t *testing.T) {
	must.Refused(combined(slices.Repeat([]jmhParameter{{"k", []string{"1"}}}, MostOptions)))(t, "parameters")
	must.Get(combined(slices.Repeat([]jmhParameter{{"k", []string{"1"}}}, MostOptions-1)))(t)
}

// FuzzList: no line of JMH's list makes reading fail, and what it lists is bounded.
func FuzzList(f *testing.F) {
	f.Add("S 3 a.P S 1 g S 1 m S 1 t A 2 1 1 M 2 4 size 2 2 10 3 100 1 k 1 8 xAA===== E", false)
	f.Add("S 1 a S 1 b S 1 c L 1 1 x M 1 1 k 1 8 xAAMAEDA", true)
	f.Add("S 1 a S 1 b S 1 c M 1 1 k 99999999 1 a", true)
	f.Fuzz(func(t *testing.T, text string, armored bool) {
		l := jmhLine{units: utf16.Encode([]rune(text)), armored: armored}
		texts, parameters := l.parse()
		must.Be(t, l.bad || len(texts) >= 3, texts)
		all, err := combined(parameters)
		must.Be(t, len(all) <= MostBenchmarks && (err == nil) == (len(all) > 0), err, len(all))
		for _, c := range all {
			must.Equal(t, len(c), len(parameters))
		}
	})
}
