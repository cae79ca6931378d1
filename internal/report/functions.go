package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

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
		"value":    unit.Value,
		"seconds":  func(v warmup.Real) string { return secondsUnit.Value(float64(v)) },
		"slug":     slug,
		"short":    func(name string) string { return short[name] },
		"breaks":   breaks,
		"clause":   firstClause,
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
