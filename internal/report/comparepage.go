package report

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// comparePage is the data of compare.html.
type comparePage struct {
	Result        *compare.Result
	Index         string // of the report; "": none
	Title         string
	Before, After string
	Margin        string
	Null          string // what the null arm shows; "" without one
	Headline      string
	Verdicts      []compare.Verdict
	Alerts        []string // what limits the verdicts
	Weaknesses    []string
	Rows          []compareView
	Notes         []string
	Calibration   string
	Version       string

	Forest, Histogram template.HTML
}

// compareView is a line of the page's table.
type compareView struct {
	Key, Benchmark, Rest             string
	Verdict, Slug, Sign              string
	Before, Change, P, Detectable    string
	BeforeValue, ChangeValue, PValue string // for sorting
	Null, First                      string
	Class                            *classView
	Reason                           string
	Warnings                         []warmup.Warning
}

// classView is a change of class.
type classView struct {
	Text, P     string
	Significant bool
}

var verdictSigns = map[compare.Verdict]string{compare.Worse: "▲", compare.Better: "▼", compare.Changed: "◆",
	compare.Same: "■", compare.CannotTell: "○"}

func verdictSlug(v compare.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") }

// ComparePage writes a comparison as an HTML page of one file, which needs no other one.
func ComparePage(w io.Writer, r *compare.Result, version string) error {
	return writeComparePage(w, r, version, "")
}

// writeComparePage is ComparePage with a link to the report that the page is part of.
func writeComparePage(w io.Writer, r *compare.Result, version, index string) error {
	p := comparePage{
		Index: index, Result: r, Title: compareTitle(r), Before: partyFacts(r.Before),
		After: partyFacts(r.After), Margin: compare.Percent(r.Margin), Null: nullText(r.NullArm),
		Headline: CompareAnswer(r), Version: version, Verdicts: verdictOrder,
		Notes: append(append(methodNotes(r), keyNotes(r)...), rulesText(r)),
	}
	for _, warning := range r.Warnings {
		if warning.Code == "null_arm" || warning.Code == warmup.WarnPrograms {
			p.Alerts = append(p.Alerts, warning.Text)
		} else {
			p.Weaknesses = append(p.Weaknesses, warning.Text)
		}
	}
	names := compareNames(r)
	for _, c := range ByVerdict(r) {
		v := newCompareView(r, &c)
		v.Benchmark, v.Rest = names(c.Key)
		p.Rows = append(p.Rows, v)
	}
	if c := r.Calibration; c != nil {
		p.Calibration = strings.TrimPrefix(calibrationText(c), "calibration: ")
	}
	var err error
	if p.Forest, err = CompareSVG(r); err != nil {
		return err
	}
	for _, d := range ComparePlots(r)[1:] {
		if p.Histogram, err = svgPart(d); err != nil {
			return err
		}
	}
	return writePage(w, "compare.html", template.FuncMap{
		"plural": display.Count, "percent100": percentText, "clause": firstClause, "verdictSlug": verdictSlug,
		"sign":     func(v compare.Verdict) string { return verdictSigns[v] },
		"interval": func(text string) template.HTML { return small(text, " (") },
	}, p)
}

// partyFacts names a side and where it was measured.
func partyFacts(p compare.Party) string {
	if p.Machine == "" {
		return partyText(p)
	}
	return partyText(p) + ", measured on " + p.Machine
}

func nullText(n *compare.NullArm) string {
	switch {
	case n == nil:
		return ""
	case n.Unfit:
		return partyText(n.Party) + " differs: no verdict is supported"
	case len(n.Differs) > 0:
		return partyText(n.Party) + " differs in " + display.Count(len(n.Differs), "key")
	}
	return partyText(n.Party) + " shows no difference"
}

// CompareSVG returns the picture of the effects, for a page: one for small screens, too. The style
// sheet shows one of both.
func CompareSVG(r *compare.Result) (template.HTML, error) {
	f := compareForest(r)
	broad, err := svgPart(f)
	if err != nil {
		return "", err
	}
	f.narrow = true
	narrow, err := svgPart(f)
	return `<div class="broad">` + broad + `</div><div class="narrow">` + narrow + `</div>`, err
}

func newCompareView(r *compare.Result, c *compare.Change) compareView {
	v := compareView{
		Key: display.PlainLine(c.Key), Verdict: string(c.Verdict),
		Slug: verdictSlug(c.Verdict), Sign: verdictSigns[c.Verdict], Reason: display.PlainLine(c.Reason),
		Null: changeOf(c.Null), First: changeOf(c.FirstTotal),
		Warnings: c.Warnings,
	}
	if e := c.Steady; e != nil {
		v.Before = display.UnitOf(r.Unit).Value(float64(e.Before))
		v.BeforeValue, v.PValue, v.P = exact(float64(e.Before)), exact(e.Corrected), pText(e.Corrected)
		v.Detectable = compare.Percent(float64(e.Detectable))
		v.Change = steadyText(c)
		if e.Ratio != nil {
			low, high := e.Ratio.Of(c.Verdict)
			v.Change = changeText(e.Ratio.Estimate, low, high)
			v.ChangeValue = exact(float64(e.Ratio.Estimate))
		}
	}
	v.Class = newClassView(c)
	return v
}

// newClassView describes a change of class; nil if the keys have the same class, and their
// executions no significantly different ones.
func newClassView(c *compare.Change) *classView {
	v := &classView{Significant: byClass(c)}
	if c.Before == c.After && !v.Significant {
		return nil
	}
	text := func(class classify.PairClass, counts classify.Counts) string {
		return (Row{Class: class, Counts: counts}).ClassText(unicodeSymbol)
	}
	v.Text = text(c.Before, c.CountsBefore) + " → " + text(c.After, c.CountsAfter)
	if c.Class != nil {
		v.P = pText(c.Class.Corrected)
	}
	return v
}

// byClass reports whether the executions' classes changed significantly.
func byClass(c *compare.Change) bool {
	return c.Class != nil && c.Class.Verdict != compare.CannotTell &&
		c.Class.Verdict != compare.Same
}

// compareTitle names both sides of a comparison, their source once.
func compareTitle(r *compare.Result) string {
	if g := r.Groups; g != nil && !g.Two() {
		return r.Before.Name + ": " + g.Base + " → " + strings.Join(g.Levels, ", ")
	}
	if r.Before.Name == r.After.Name && r.Before.Arm != "" && r.After.Arm != "" {
		return r.Before.Name + ": " + r.Before.Arm + " → " + r.After.Arm
	}
	return partyText(r.Before) + " → " + partyText(r.After)
}

// changeOf is a side effect with its own interval.
func changeOf(e *compare.Effect) string {
	if e == nil {
		return ""
	}
	if e.Ratio == nil {
		return aloneText(e)
	}
	return changeText(e.Ratio.Estimate, e.Ratio.AloneLow, e.Ratio.AloneHigh)
}

// CompareMarkdown writes a comparison as the comment of a merge request: the result in a line, the
// keys that changed, and everything else folded.
func CompareMarkdown(w io.Writer, r *compare.Result) error {
	var b strings.Builder
	for _, text := range programs(r) {
		fmt.Fprintf(&b, "%s.\n\n", escapeMarkdown(text))
	}
	fmt.Fprintf(&b, "**%s** (%s, %s for the table)\n\n", escapeMarkdown(CompareAnswer(r)),
		escapeMarkdown(compareTitle(r)), percentText(r.Confidence))
	if null := nullText(r.NullArm); null != "" {
		fmt.Fprintf(&b, "Null arm: %s.\n\n", escapeMarkdown(null))
	}
	changed := slices.DeleteFunc(ByVerdict(r), func(c compare.Change) bool {
		return c.Verdict == compare.Same || c.Verdict == compare.CannotTell
	})
	if len(changed) > 0 {
		var short Table
		short.changes(r, changed)
		b.WriteString(short.markdown() + "\n")
	}
	table := CompareTable(r)
	table.Answers = nil // said above
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
