package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"unicode"

	"krund/internal/display"
)

// escapeXML makes text fit for XML, and for a terminal that shows it.
func escapeXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(display.PlainLine(s))) // a buffer has no errors
	return b.String()
}

// jsonText is a JSON string that may stand in a script.
func jsonText(s string) string {
	text, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD")) // escapes <, > and & for HTML
	if err != nil {
		return `""` // strings have no errors
	}
	return string(text)
}

var latexSpecial = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`, `_`, `\_`,
	`^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`,
	`\textbar{}`, `"`, `''`,
	`[`, `{[}`, // after \\ it would begin an option
)

// escapeLaTeX makes text fit for LaTeX with any of its engines and font encodings: letters that its
// own fonts (OT1) cannot make become "?".
func escapeLaTeX(s string) string {
	return latexSpecial.Replace(strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII, strings.ContainsRune(latexSigns, r):
			return r
		case r >= 'À' && r <= 'ÿ' && !strings.ContainsRune("ÐÞðþ", r):
			return r
		}
		return '?'
	}, display.PlainLine(s)))
}

// latexSigns are those that latexText gives commands for.
const latexSigns = "±×→≠°µ"

var markdownSpecial = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `&lt;`, `>`, `&gt;`, `[`, `\[`, `]`, `\]`,
	`~`, `\~`, `#`, `\#`, `&`, `&amp;`, `!`, `\!`,
)

func escapeMarkdown(s string) string { return markdownSpecial.Replace(display.PlainLine(s)) }
