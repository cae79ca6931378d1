package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
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
type Output func(name string, content []byte) error

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
func (s *site) write(name string, content func(io.Writer) error) error {
	var b bytes.Buffer
	err := content(&b)
	if err == nil {
		err = s.out(name, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the report's %s: %w", name, err)
	}
	s.size.Files++
	s.size.Bytes += int64(b.Len())
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

func (s *site) asset(name string) error {
	return s.write("assets/"+name, func(w io.Writer) error {
		_, err := w.Write(asset(name))
		return err
	})
}

func (s *site) functions() template.FuncMap {
	unit := display.UnitOf(s.in.Document.Unit)
	short := shortNames(benchmarks(s.in.Document))
	return template.FuncMap{
		"keyPage": func(i int) string { return "keys/" + pageName(i) + ".html" },
		"number":  Number,
		"counts":  func(v *arith.Spread) template.HTML { return small(countsText(v), " (") },
		"times":   func(v *arith.Spread) template.HTML { return small(valuesText(v, secondsUnit), " (") },
		"perf": func(p *warmup.Performance) template.HTML {
			return small(performanceText(p, unit), " ±")
		},
		"value":   unit.Value,
		"seconds": func(v warmup.Real) string { return secondsUnit.Value(float64(v)) },
		"slug":    slug,
		"short":   func(name string) string { return short[name] },
		"breaks":  breaks,
		"clause":  firstClause,
		"evidence": func(k *explain.Key, s explain.Statement) string {
			return evidenceText(&s.Candidate, k.Tested, s.With)
		},
		"candidates": whyCandidates, "warned": whyWarned, "share": shareText, "left": leftText,
		"causes":  func(k *explain.Key) string { return strings.Join(causesOf(k), ", ") },
		"bounded": boundedText, "boundedName": boundedName,
		"arms":     comparisonFile,
		"arm":      func(p compare.Party) string { return p.Arm },
		"headline": CompareAnswer,
		"answers":  compareAnswers, "groupCaption": groupCaption, "rowNoun": rowNoun, "groupRows": groupRows,
		"groupPicture": CompareSVG,
		"plural":       display.Count,
		"iterationBars": func(h *Thumbnail) template.HTML {
			return htmlThumbnail(h, "Steady iterations", Number)
		},
		"levelBars": func(h *Thumbnail) template.HTML {
			return htmlThumbnail(h, "Steady means", unit.Value)
		},
		"percent": percent,
		// for sorting
		"trimPercent": func(s string) string { return strings.Trim(s, "%-") },
		"clean":       display.PlainLine,
		"text":        func(c classify.PairClass) string { return string(c) },
		"symbol":      func(c classify.PairClass) string { return unicodeSymbol(c) },
		"class":       func(r Row) string { return r.ClassText(unicodeSymbol) },
		"deref":       func(p *int) int { return *p },
		"real":        func(v warmup.Real) string { return Number(float64(v)) }, // for sorting
		"ns":          func(ns int64) string { return display.Nanoseconds(float64(ns)) },
	}
}

// breaks permits a browser to break lines after the marks in names.
func breaks(name string) template.HTML {
	return template.HTML(wordBreaks.Replace(escapeXML(name)))
}

var wordBreaks = strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>", "-", "-<wbr>", "@", "<wbr>@")

// slug is the part of a style sheet class name for the class.
func slug(c classify.PairClass) string { return strings.ReplaceAll(string(c), " ", "-") }

// small puts what follows the separator, which begins a text's interval, in small type.
func small(text, separator string) template.HTML {
	value, interval, ok := strings.Cut(text, separator)
	if !ok {
		return template.HTML(escapeXML(text))
	}
	class := "ci"
	if strings.HasSuffix(separator, "(") {
		class = "ci range" // may stand on a line of its own
	}
	return template.HTML(escapeXML(value) + ` <span class="` + class + `">` +
		escapeXML(separator[1:]+interval) + `</span>`)
}

// percentText formats 0.99 as "99%".
func percentText(part float64) string { return strconv.FormatFloat(100*part, 'g', 4, 64) + "%" }

// htmlThumbnail draws a thumbnail as an SVG with a text description.
func htmlThumbnail(h *Thumbnail, what string, text func(float64) string) template.HTML {
	if h == nil {
		return ""
	}
	most := slices.Max(h.Counts[:])
	label := fmt.Sprintf("%s of executions from %s to %s: %v", what, text(h.Low),
		text(h.High), h.Counts)
	svg := fmt.Sprintf(
		`<svg class="thumb" width="60" height="16" viewBox="0 0 60 16" role="img"><title>%s</title>`,
		escapeXML(label))
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		height := max(15*float64(n)/float64(most), 1)
		class := ` fill="#0072b2"`
		if i == h.median() {
			class = ` class="m" fill="#d55e00"`
		}
		svg += fmt.Sprintf(`<rect%s x="%d" y="%s" width="5" height="%s"/>`, class, 6*i,
			appendPlace(nil, 16-height), appendPlace(nil, height))
	}
	return template.HTML(svg + `<path d="M0 15.5H60" stroke="#999"/></svg>`) // numbers, and escaped text
}

// Style returns the style sheet of the reports, for other pages with their look.
func Style() []byte { return asset("report.css") }

// Script returns the script of the reports' tables, which the page of a comparison contains between
// script tags.
func Script() []byte { return asset("report.js") }

// svgPart is a drawing as a part of a page. writeSVG escapes its texts.
func svgPart(d Drawing) (template.HTML, error) {
	var b strings.Builder
	err := writeSVG(&b, []Drawing{d}, pageColumns, true)
	return template.HTML(b.String()), err
}

// writePage writes a page of one file by the template in assets, which may call these functions and
// more.
func writePage(w io.Writer, name string, more template.FuncMap, data any) error {
	page, err := template.New("").Funcs(template.FuncMap{
		"clean": display.PlainLine, "breaks": breaks, "cell": plainText,
		"style":  func() template.CSS { return template.CSS(Style()) },
		"script": func() template.JS { return template.JS(Script()) },
	}).Funcs(more).ParseFS(assets, "assets/"+name)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	return page.ExecuteTemplate(w, name, data)
}

func asset(name string) []byte {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the program was built with it
	}
	return text
}
