package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/quantile"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"keyPage":    func(i int) string { return "keys/" + pageName(i) + ".html" },
		"number":     Number,
		"spreadHTML": spreadHTML,
		"perfHTML":   performanceHTML,
		"slug":       slug,
		"plural":     display.Count,
		"histogram":  htmlHistogram,
		"percent":    percent,
		"clean":      display.PlainLine,
		"text":       func(c classify.PairClass) string { return string(c) },
		"symbol":     func(c classify.PairClass) string { return unicodeSymbol(c) },
		"class":      func(r Row) string { return r.ClassText(unicodeSymbol) },
		"deref":      func(p *int) int { return *p },
		"real":       func(r warmup.Real) string { return Number(float64(r)) },
		"seconds":    func(ns int64) string { return Number(float64(ns)/1e9) + " s" },
	}
}

// slug is the part of a style sheet class name for the class.
func slug(c classify.PairClass) string { return strings.ReplaceAll(string(c), " ", "-") }

// spreadHTML formats a median with its percentiles in small type.
func spreadHTML(s *quantile.Spread) template.HTML {
	if s == nil {
		return ""
	}
	return template.HTML(fmt.Sprintf(`%s <span class="ci">(%s, %s)</span>`, Number(s.Median), Number(s.P5),
		Number(s.P95))) // numbers
}

// performanceHTML formats a mean with its interval in small type.
func performanceHTML(p *warmup.Performance) template.HTML {
	if p == nil {
		return ""
	}
	mean, half := withInterval(p.Mean, p.Half)
	return template.HTML(fmt.Sprintf(`%s <span class="ci">±%s</span>`, mean, half)) // numbers
}

// percentText formats 0.99 as "99%".
func percentText(part float64) string { return strconv.FormatFloat(100*part, 'g', 4, 64) + "%" }

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

// htmlHistogram draws a thumbnail as an SVG with a text description.
func htmlHistogram(h *Histogram, what string) template.HTML {
	if h == nil {
		return ""
	}
	most := 0
	for _, n := range h.Counts {
		most = max(most, n)
	}
	label := fmt.Sprintf("%s of executions from %s to %s: %v", what, Number(h.Low), Number(h.High), h.Counts)
	text := fmt.Sprintf(
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
		text += fmt.Sprintf(`<rect%s x="%d" y="%s" width="5" height="%s"/>`, class, 6*i,
			appendPlace(nil, 16-height), appendPlace(nil, height))
	}
	return template.HTML(text + `<path d="M0 15.5H60" stroke="#999"/></svg>`) // numbers, and escaped text
}
