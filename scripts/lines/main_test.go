package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	wide := strings.Repeat("word ", 21) + "words"     // 110 columns
	tooWide := strings.Repeat("word ", 21) + "words." // 111
	prose := strings.Repeat("word ", 19) + "words"    // 100
	for name, c := range map[string]struct {
		ext, text string
		want      []int // numbers of lines
	}{
		"code":          {".go", "package x\n" + wide + "\n" + tooWide, []int{3}},
		"a tab is four": {".go", "\t" + wide[4:] + "\n\t" + tooWide[4:], []int{2}},
		"comments":      {".c", "// " + prose[3:] + "\n// " + prose + "\n * " + prose, []int{2, 3}},
		"raw strings": {".go", "package x\nconst y = `" + tooWide + "\n" + tooWide + "`\n" +
			tooWide, []int{4}},
		"shell": {".sh", "# " + prose[2:] + "\n# " + prose + "\n" + wide + "\n" + tooWide,
			[]int{2, 4}},
		"help of a Makefile": {"", "## " + wide[3:] + "\n# " + prose, []int{2}},
		"one word":           {".go", "package x\n// " + strings.Repeat("x", 200), nil},
		"Markdown":           {".md", prose + "\n" + wide, []int{2}},
		"Markdown's exceptions": {".md", "| " + wide + "\n# " + wide + "\n```\n" + wide + "\n```\n" + wide,
			[]int{6}},
	} {
		var got []int
		for _, l := range check(c.ext, []byte(c.text)) {
			got = append(got, l.number)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", name, got, c.want)
		}
	}
}
