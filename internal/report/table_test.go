package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/rig/must"
)

func rendered(t *testing.T, doc *warmup.Document, f Format) string {
	t.Helper()
	var b bytes.Buffer
	var err error
	facts := &Facts{Records: 1, Values: []Fact{{"reboot before each execution", "none", 1}}}
	results, shares := ResultTable(doc, facts), ShareTable(doc)
	switch f {
	case CSV:
		err = ResultCSV(&b, doc, facts)
	case JSON:
		err = ResultJSON(&b, doc, facts)
	default:
		if err = results.Write(&b, f); err == nil {
			b.WriteString("\n")
			err = shares.Write(&b, f)
		}
	}
	must.Do(t, err)
	return b.String()
}

var parameters = regexp.MustCompile(`(?s)"parameters": \{.*?\n  \}`)

func TestTableGoldens(t *testing.T) {
	doc := analysed(t, sample())
	for i := range doc.Pairs { // the analysis has tests of its own for its words
		doc.Pairs[i].Warnings = nil
		if i%2 == 0 {
			doc.Pairs[i].Warnings = []warmup.Warning{{Code: "few",
				Text: "3 executions are few; measure 10 & more"}}
		}
	}
	for _, f := range Formats {
		t.Run(string(f), func(t *testing.T) {
			text := rendered(t, doc, f)
			if f != JSON && strings.Contains(text, "\x1b") && f != CSV {
				t.Error("an escape sequence got through")
			}
			if f == JSON { // the parameters' form is the analysis's, too
				text = parameters.ReplaceAllString(text, `"parameters": {}`)
			}
			golden(t, "table."+string(f), text)
		})
	}
}

// TestEmptyTables: a document without keys has tables, too.
func TestEmptyTables(t *testing.T) {
	for _, f := range Formats {
		must.Be(t, rendered(t, &warmup.Document{}, f) != "", "no keys give", f)
	}
}

func TestHistogram(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		low, high float64
		want      [bins]int
		text      string
	}{
		{[]float64{0, 10, 10, 5}, 0, 10, [bins]int{1, 0, 0, 0, 0, 1, 0, 0, 0, 2}, "▄    ▄   █"},
		{[]float64{3, 3}, 3, 3, [bins]int{5: 2}, "     █    "},
	} {
		h := newThumbnail(c.values, c.low, c.high)
		if h.Counts != c.want || h.Text() != c.text {
			t.Errorf("%v: %v %q", c.values, h.Counts, h.Text())
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234.56: "1234.6", 0.123456: "0.1235",
		1.5e-7: "1.500e-07", -2: "-2"} {
		must.Equal(t, Number(v), want, "Number")
	}
}

// TestWideCells: a key of 300 characters does not make a table of text unreadable.
func TestWideCells(t *testing.T) {
	table := Table{Narrow: 100, Columns: []Head{"Key", ">Mean"},
		Rows: [][]Cell{{"first" + strings.Repeat("x", 290) + "last", "1 ms"}}}
	for line := range strings.Lines(table.text()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 50+len("  1 ms") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if text := table.text(); !strings.Contains(text, "firstxxx") || !strings.Contains(text, "xxxlast  1 ms") {
		t.Error(text)
	}
}

// TestExecutionsText: an instrumented key is marked wherever its executions are counted.
func TestExecutionsText(t *testing.T) {
	for want, row := range map[string]Row{"30": {Executions: 30, Analysed: 30},
		"28 of 30":         {Executions: 30, Analysed: 28},
		"30, events":       {Executions: 30, Analysed: 30, Instrument: "events"},
		"9 of 10, columns": {Executions: 10, Analysed: 9, Instrument: "columns"}} {
		must.Equal(t, row.ExecutionsText(), want)
	}
}

// FuzzEscape: whatever a name is, it stays text: in XML and HTML it reads back as what can be seen
// of it, in LaTeX no command and no brace of its own is left, in scripts it is one JSON string
// without a tag.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", hostile, "\\end{document}", "{}$&#%_^~\"|[", "</script>",
		"a\nb\u202ec\xff", "𝒳 ±"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back struct {
			Text string `xml:",chardata"`
		}
		err := xml.Unmarshal([]byte("<x>"+escapeXML(s)+"</x>"), &back)
		must.Be(t, err == nil && back.Text == display.PlainLine(s), "XML of", s, "reads as", back.Text, err)
		for _, r := range display.PlainLine(s) {
			must.Be(t, r == ' ' || r == unicode.ReplacementChar || unicode.IsPrint(r), s, "keeps", r)
		}
		var call strings.Builder
		must.Do(t, writeCall(&call, "pair", s))
		argument, text := strings.TrimSuffix(call.String()[len("krund.pair("):], ");\n"), ""
		must.Do(t, json.Unmarshal([]byte(argument), &text), s, argument)
		must.Be(t, !strings.ContainsAny(argument, "<>&"), "JSON of", s, argument)
		checkLaTeX(t, s)
		for _, cell := range strings.Split(escapeMarkdown(s), `\|`) {
			must.Be(t, !strings.ContainsAny(cell, "|<>\n"), "Markdown of", s, cell)
		}
	})
}

// checkLaTeX takes the commands of the escaping out, and looks at the rest.
func checkLaTeX(t *testing.T, s string) {
	t.Helper()
	rest := escapeLaTeX(s)
	for _, command := range []string{`\textbackslash{}`, `\textasciicircum{}`, `\textasciitilde{}`,
		`\textless{}`, `\textgreater{}`, `\textbar{}`, `''`,
		`{[}`, `\{`, `\}`, `\$`, `\&`, `\#`, `\%`, `\_`} {
		rest = strings.ReplaceAll(rest, command, "")
	}
	if strings.ContainsAny(rest, `\{}$&#%_^~"|[<>`) {
		t.Errorf("LaTeX of %q: %q", s, escapeLaTeX(s))
	}
}
