package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/display"
)

// CompareMarkdown writes a comparison as the comment of a merge request: the result in a line, the
// keys that changed, and everything else folded.
func CompareMarkdown(w io.Writer, r *compare.Result) error {
	var b strings.Builder
	if text := programsText(r); text != "" {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(text))
	}
	fmt.Fprintf(&b, "**%s** (%s, %s for the table)\n\n", escapeMarkdown(CompareAnswer(r)),
		escapeMarkdown(compareTitle(r)), percentText(r.Confidence))
	if null := nullText(r.NullArm); null != "" {
		fmt.Fprintf(&b, "Null arm: %s.\n\n", escapeMarkdown(null))
	}
	changed := slices.DeleteFunc(ByVerdict(r), func(c compare.Change) bool {
		return c.Verdict == compare.Same || c.Verdict == compare.CannotTell
	})
	short := Table{Columns: []Head{"Verdict", "Key", ">Before", ">Change", ">p", "Class"}}
	for i := range changed {
		v := newCompareView(r, &changed[i])
		row := []Cell{{Text: v.Sign + " " + v.Verdict}, {Text: v.Key}, {Text: v.Before}, {Text: v.Change},
			{Text: v.P}, {}}
		if v.Class != nil && v.Class.Significant {
			row[5].Text = v.Class.Text
		}
		short.Rows = append(short.Rows, row)
	}
	if len(changed) > 0 {
		b.WriteString(short.markdown() + "\n")
	}
	table := CompareTable(r)
	table.First = "" // said above
	fmt.Fprintf(&b, "<details><summary>All %s, and how they were compared</summary>\n\n%s\n</details>\n",
		display.Count(len(r.Changes), "key"), table.markdown())
	_, err := io.WriteString(w, b.String())
	return err
}

// junitSuite is the part of JUnit's XML that CI systems read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

// CompareJUnit writes a comparison as JUnit XML: a test per key, which fails when its verdict is
// one of failing and is skipped when there is no verdict.
func CompareJUnit(w io.Writer, r *compare.Result, failing []compare.Verdict) error {
	s := junitSuite{Name: display.PlainLine(compareTitle(r)),
		Tests: len(r.Changes)}
	for i := range r.Changes {
		c := &r.Changes[i]
		v := newCompareView(r, c)
		test := junitCase{Class: "krund.compare", Name: v.Key, Output: junitOutput(v)}
		switch {
		case slices.Contains(failing, c.Verdict):
			test.Failure = &junitMessage{strings.TrimSpace(v.Verdict + " " + v.Change), v.Verdict}
			s.Failures++
		case c.Verdict == compare.CannotTell:
			test.Skipped = &junitMessage{Message: "cannot tell: " + v.Reason}
			s.Skipped++
		}
		s.Cases = append(s.Cases, test)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junitOutput is the result of a key in words.
func junitOutput(v compareView) string {
	text := v.Verdict
	for _, part := range [][2]string{{"before", v.Before}, {"change", v.Change}, {"p", v.P},
		{"detectable", v.Detectable}, {"reason", v.Reason}} {
		if part[1] != "" {
			text += "; " + part[0] + " " + part[1]
		}
	}
	for _, w := range v.Warnings {
		if w.Text != v.Reason {
			text += "; warning: " + w.Text
		}
	}
	return text
}
