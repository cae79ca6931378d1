package report

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

//go:embed assets
var assets embed.FS

// Input is what a report is made of.
type Input struct {
	Document *warmup.Document
	Data     *dataset.Dataset // the same pairs and executions
	Facts    *Facts           // nil: the data did not come from records of krund
	Version  string           // of krunctl
	// Columns gives the columns of an execution that are shown beside the
	// one analysed; nil: those in Data.
	Columns func(pair, execution int) ([]dataset.Column, error)
}

// Folder is where the files of a report go. Names are relative, with slashes.
type Folder interface {
	Create(name string) (io.WriteCloser, error)
}

// Size is what Site wrote.
type Size struct {
	Files int
	Bytes int64
}

// ErrMismatch says that a document was not made of the data beside it.
var ErrMismatch = errors.New("the analysis is of other data; run krunctl analyze --fresh")

// Site writes a report: index.html, a page per key in keys/, the values in
// data/, static plots in plots/ and the scripts in assets/. It needs no
// network and no server.
func Site(out Folder, in Input) (Size, error) {
	s := site{in: in, out: out}
	if err := s.check(); err != nil {
		return s.size, err
	}
	var err error
	if s.pages, err = template.New("").Funcs(s.functions()).ParseFS(assets, "assets/*.html"); err != nil {
		return s.size, fmt.Errorf("read the pages' templates: %w", err)
	}
	for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE", "report.js", "report.css"} {
		if err := s.asset(name); err != nil {
			return s.size, err
		}
	}
	for i := range in.Document.Pairs {
		if err := s.pair(i); err != nil {
			return s.size, fmt.Errorf("report on %s: %w", in.Document.Pairs[i].Key, err)
		}
	}
	return s.size, s.index()
}

type site struct {
	in    Input
	out   Folder
	pages *template.Template
	size  Size
}

func (s *site) check() error {
	doc, data := s.in.Document, s.in.Data
	if len(doc.Pairs) != len(data.Pairs) {
		return ErrMismatch
	}
	for i := range doc.Pairs {
		if doc.Pairs[i].ParsedKey() != data.Pairs[i].Key || len(doc.Pairs[i].Executions) != len(data.Pairs[i].Executions) {
			return fmt.Errorf("%s: %w", data.Pairs[i].Key, ErrMismatch)
		}
	}
	return nil
}

// write makes a file.
func (s *site) write(name string, content func(io.Writer) error) (err error) {
	f, err := s.out.Create(name)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write the report's %s: %w", name, closed)
		}
	}()
	w := &counter{w: f}
	if err := content(w); err != nil {
		return fmt.Errorf("write the report's %s: %w", name, err)
	}
	s.size.Files++
	s.size.Bytes += w.n
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (s *site) asset(name string) error {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return fmt.Errorf("read the report's %s: %w", name, err)
	}
	return s.write("assets/"+name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func pageName(i int) string { return fmt.Sprintf("k%04d", i) }

// pairPage is what pair.html shows.
type pairPage struct {
	Input
	Index      int
	Name       string
	Pair       *warmup.Pair
	Row        Row
	Executions []executionView
	Previous   string // file names of the neighbours; "": none
	Next       string
}

func (s *site) pair(i int) error {
	doc := s.in.Document
	p := pairPage{Input: s.in, Index: i, Name: pageName(i), Pair: &doc.Pairs[i], Row: rowOf(&doc.Pairs[i])}
	if i > 0 {
		p.Previous = pageName(i-1) + ".html"
	}
	if i+1 < len(doc.Pairs) {
		p.Next = pageName(i+1) + ".html"
	}
	facts := s.in.Facts.of(p.Pair.ParsedKey())
	for e := range p.Pair.Executions {
		view, err := s.execution(i, e, facts)
		if err != nil {
			return err
		}
		p.Executions = append(p.Executions, view)
	}
	unit := s.axis()
	if err := s.write("data/"+p.Name+".js", func(w io.Writer) error { return writePairData(w, i, unit, p.Executions) }); err != nil {
		return err
	}
	return s.write("keys/"+p.Name+".html", func(w io.Writer) error { return s.pages.ExecuteTemplate(w, "pair.html", p) })
}

// axis names the y axis.
func (s *site) axis() string { return AxisName(s.in.Document) }

// AxisName names the axis of a document's values: "wall (s)".
func AxisName(doc *warmup.Document) string {
	if doc.Unit == "" {
		return doc.Parameters.Column
	}
	return doc.Parameters.Column + " (" + doc.Unit + ")"
}

// execution prepares an execution, and writes its plot and its other columns.
func (s *site) execution(i, e int, facts []RunFacts) (executionView, error) {
	pair := &s.in.Document.Pairs[i]
	data := &s.in.Data.Pairs[i].Executions[e]
	a := &pair.Executions[e]
	v := executionView{Index: e, Number: a.Number, Analysis: a, Run: NewRun(Values(data, s.in.Document.Parameters.Column), a)}
	if len(facts) == len(pair.Executions) && facts[e].Pexec == a.Number {
		v.Facts = &facts[e]
	}
	v.Label = fmt.Sprintf("%d: %s", a.Number, v.Class())
	if a.Status == warmup.NotCompleted {
		v.Label = fmt.Sprintf("%d: %s", a.Number, a.Outcome)
	}
	columns, err := s.columns(i, e)
	if err != nil {
		return v, err
	}
	if len(columns) > 0 {
		v.HasColumns = true
		if err := s.write(fmt.Sprintf("data/%s-%d.js", pageName(i), e), func(w io.Writer) error { return writeColumns(w, i, e, columns) }); err != nil {
			return v, err
		}
	}
	if len(v.Run.Values) == 0 {
		return v, nil
	}
	v.SVG = fmt.Sprintf("%s-%d.svg", pageName(i), e)
	title := fmt.Sprintf("%s, execution %s", pair.Key, v.Label)
	return v, s.write("plots/"+v.SVG, func(w io.Writer) error {
		_, err := w.Write(v.Run.SVG(title, s.axis()))
		return err
	})
}

// columns are those of an execution that are not the one analysed.
func (s *site) columns(i, e int) ([]dataset.Column, error) {
	all := s.in.Data.Pairs[i].Executions[e].Columns
	if s.in.Columns != nil {
		var err error
		if all, err = s.in.Columns(i, e); err != nil {
			return nil, err
		}
	}
	var others []dataset.Column
	for _, c := range all {
		if (c.Name != s.in.Document.Parameters.Column || c.Core != dataset.NoCore) && c.Len() > 0 {
			others = append(others, c)
		}
	}
	return others, nil
}

// Values gives the values of the analysed column as the analysis used them; of
// a per-core column the sums over the cores; none when there is no such column.
func Values(e *dataset.Execution, column string) []float64 {
	if c, ok := e.Column(column, dataset.NoCore); ok {
		values, _ := c.Floats()
		return values
	}
	var sum []float64
	for _, c := range e.Cores(column) {
		values, _ := c.Floats()
		if sum == nil {
			sum = make([]float64, len(values))
		}
		for i := range min(len(sum), len(values)) {
			sum[i] += values[i]
		}
	}
	return sum
}

// indexPage is what index.html shows.
type indexPage struct {
	Input
	Rows     []Row
	Shares   []Share
	Warnings []warmup.Warning
	Grouped  []GroupedWarning
	Pairs    int // that have a class
	Analysed int // executions
}

func (s *site) index() error {
	doc := s.in.Document
	p := indexPage{Input: s.in, Rows: Rows(doc), Shares: Shares(doc), Grouped: GroupWarnings(doc)}
	p.Warnings = append(append(p.Warnings, s.in.Facts.Warnings()...), doc.Warnings...)
	p.Pairs, p.Analysed = classified(doc)
	return s.write("index.html", func(w io.Writer) error { return s.pages.ExecuteTemplate(w, "index.html", p) })
}

// GroupedWarning is a warning about several keys. Text is that of the first.
type GroupedWarning struct {
	Code, Text string
	Keys       []string
}

// GroupWarnings collects the pairs' warnings by code.
func GroupWarnings(doc *warmup.Document) []GroupedWarning {
	var list []GroupedWarning
	index := map[string]int{}
	for i := range doc.Pairs {
		for _, w := range doc.Pairs[i].Warnings {
			at, ok := index[w.Code]
			if !ok {
				at = len(list)
				index[w.Code] = at
				list = append(list, GroupedWarning{Code: w.Code, Text: w.Text})
			}
			list[at].Keys = append(list[at].Keys, doc.Pairs[i].Key)
		}
	}
	return list
}

func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"keyPage":   func(i int) string { return "keys/" + pageName(i) + ".html" },
		"number":    Number,
		"spread":    spreadText,
		"perf":      func(p *warmup.Performance) string { return performanceText(p, "±") },
		"histogram": htmlHistogram,
		"percent":   percent,
		"clean":     printable,
		"text":      func(c classify.PairClass) string { return string(c) },
		"symbol":    func(c classify.PairClass) string { return unicodeSymbol(c) },
		"class":     func(r Row) string { return r.ClassText(unicodeSymbol) },
		"axis":      s.axis,
		"tone":      tone,
		"deref":     func(p *int) int { return *p },
		"real":      func(r warmup.Real) string { return Number(float64(r)) },
		"seconds":   func(ns int64) string { return Number(float64(ns)/1e9) + " s" },
	}
}

// tone is the colour of a class: good, bad, or none.
func tone(c classify.PairClass) string {
	switch c {
	case "flat", "warmup", classify.GoodInconsistent:
		return "good"
	case classify.None:
		return "none"
	}
	return "bad"
}

// unicodeSymbol is the study's sign for a class.
func unicodeSymbol(c classify.PairClass) string {
	switch c {
	case "flat":
		return "―"
	case "warmup":
		return "╲"
	case "slowdown":
		return "╱"
	case "no steady state":
		return "∿"
	case classify.GoodInconsistent:
		return "="
	case classify.BadInconsistent:
		return "≠"
	}
	return "?"
}

// htmlHistogram draws a thumbnail as an SVG that says what it shows.
func htmlHistogram(h *Histogram, what string) template.HTML {
	if h == nil {
		return ""
	}
	most := 0
	for _, n := range h.Counts {
		most = max(most, n)
	}
	label := fmt.Sprintf("%s of executions from %s to %s: %v", what, Number(h.Low), Number(h.High), h.Counts)
	text := fmt.Sprintf(`<svg class="thumb" viewBox="0 0 60 16" role="img"><title>%s</title>`, escapeXML(label))
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		height := max(15*float64(n)/float64(most), 1)
		text += fmt.Sprintf(`<rect x="%d" y="%s" width="5" height="%s"/>`, 6*i, place(16-height), place(height))
	}
	return template.HTML(text + `<path d="M0 15.5H60"/></svg>`) // numbers, and escaped text
}
