package report

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
)

//go:embed assets
var assets embed.FS

// Material is what a report is made of.
type Material struct {
	Document *warmup.Document
	Data     *dataset.Dataset // the same pairs and executions
	Facts    *Facts           // nil: the data did not come from records of krund
	Version  string           // of krunctl
	// Comparisons are those of the experiment's arms, and Groups those of several VMs, variants or
	// arms in one table.
	Comparisons []*compare.Result
	Groups      []*compare.Result
	// Series returns an execution with its events and the columns that are shown beside the one
	// analyzed; nil: what Data has.
	Series func(pair, execution int) (dataset.Execution, error)
	// Explanation is of the same pairs; nil: none.
	Explanation *explain.Document
}

// Output receives the files of a report. Names are relative, with slashes.
type Output interface {
	Create(name string) (io.WriteCloser, error)
}

// Size is the size of a report.
type Size struct {
	Files int
	Bytes int64
}

// ErrMismatch reports that a document was not made from the given data.
var ErrMismatch = errors.New("the analysis is of other data; remove it, and run krunctl analyze")

// Site writes a report: index.html, a page per key in keys/, the values in data/, static plots in
// plots/ and the scripts in assets/. It needs no network and no server.
func Site(out Output, in Material) (Size, error) {
	s := site{in: in, out: out}
	if err := s.check(); err != nil {
		return s.size, err
	}
	var err error
	if s.pages, err = template.New("").Funcs(s.functions()).ParseFS(assets, "assets/index.html",
		"assets/pair.html"); err != nil {
		return s.size, fmt.Errorf("read the pages' templates: %w", err)
	}
	for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE", "report.js",
		"lanes.js", "plots.js", "report.css"} {
		if err := s.asset(name); err != nil {
			return s.size, err
		}
	}
	if err := s.write("assets/marks.js", writeMarks); err != nil {
		return s.size, err
	}
	for i := range in.Document.Pairs {
		if err := s.pair(i); err != nil {
			return s.size, fmt.Errorf("report on %s: %w", in.Document.Pairs[i].Key, err)
		}
	}
	for _, r := range in.Comparisons {
		if err := s.write(comparisonFile(r), func(w io.Writer) error {
			return writeComparePage(w, r, in.Version, "index.html")
		}); err != nil {
			return s.size, err
		}
	}
	return s.size, s.index()
}

// comparisonFile is the name of the page of a comparison of two arms.
func comparisonFile(r *compare.Result) string { return "compare-" + r.After.Arm + ".html" }

// mostPages is the maximum number of keys of a report; an experiment of krund has no more, either.
const mostPages = 10_000

type site struct {
	in    Material
	out   Output
	pages *template.Template
	size  Size
}

func (s *site) check() error {
	doc, data := s.in.Document, s.in.Data
	if n := len(doc.Pairs); n > mostPages {
		return fmt.Errorf("%s has %d keys, and a report has pages for at most %d; choose keys with --key",
			doc.Source.Name, n, mostPages)
	}
	if len(doc.Pairs) != len(data.Pairs) {
		return ErrMismatch
	}
	for i := range doc.Pairs {
		if doc.Pairs[i].ParsedKey() != data.Pairs[i].Key ||
			len(doc.Pairs[i].Executions) != len(data.Pairs[i].Executions) {
			return fmt.Errorf("%s: %w", data.Pairs[i].Key, ErrMismatch)
		}
	}
	return nil
}

// write writes a file.
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

// plot writes a static plot.
func (s *site) plot(name string, d Drawing) error {
	return s.write("plots/"+name, func(w io.Writer) error {
		return writeSVG(w, []Drawing{d}, pageColumns, true)
	})
}

// page writes a page by its template.
func (s *site) page(name, template string, data any) error {
	return s.write(name, func(w io.Writer) error { return s.pages.ExecuteTemplate(w, template, data) })
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
	return s.write("assets/"+name, func(w io.Writer) error {
		_, err := w.Write(asset(name))
		return err
	})
}
