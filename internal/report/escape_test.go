package report

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"unicode"

	"krund/internal/display"
	"krund/rig/must"
)

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
