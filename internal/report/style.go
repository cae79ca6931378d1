package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"krund/internal/display"
)

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
		"clean": display.PlainLine, "breaks": breaks,
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
