package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"unicode"

	"krund/internal/display"
)

// escapeXML escapes text for XML, and for a terminal that shows it.
func escapeXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(display.PlainLine(s))) // a buffer has no errors
	return b.String()
}

var latexSpecial = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`, `_`, `\_`,
	`^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`,
	`\textbar{}`, `"`, `''`,
	`[`, `{[}`, // after \\ it would begin an option
)

// escapeLaTeX escapes text for LaTeX with any engine and font encoding: letters missing from its
// own fonts (OT1) become "?".
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

// latexSigns are the characters for which latexText has commands.
const latexSigns = "±×→≠°µ"

var markdownSpecial = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `&lt;`, `>`, `&gt;`, `[`, `\[`, `]`, `\]`,
	`~`, `\~`, `#`, `\#`, `&`, `&amp;`, `!`, `\!`,
)

func escapeMarkdown(s string) string { return markdownSpecial.Replace(display.PlainLine(s)) }
