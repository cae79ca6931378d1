package report

import (
	"html/template"
	"io"

	"krund/internal/analysis/history"
	"krund/internal/display"
)

// HistorySVG returns the figure of a key, for a page.
func HistorySVG(h *history.History, k *history.KeyHistory, base string) (template.HTML, error) {
	return svgPart(&HistoryFigure{History: h, Key: k, Base: base, Narrow: true})
}

// FigureStyle is the style sheet within each figure of a page, for its Content-Security-Policy.
func FigureStyle() string { return lightStyle + darkStyle }

// HistoryPage writes a page with the changes of all keys, and a figure of each key. base is the
// unit of the values, version that of krunctl.
func HistoryPage(w io.Writer, h *history.History, base, version string) error {
	page := struct {
		Table
		Events                         Table
		First, Last, Headline, Version string
		Figures                        []template.HTML
	}{
		Table:  HistoryTable(h, base),
		Events: EventsTable(h), Headline: display.Count(h.Alerts(), "change"), Version: version,
	}
	if n := len(h.Versions); n > 0 {
		page.First, page.Last = h.Versions[0].Label, h.Versions[n-1].Label
	}
	for i := range h.Keys {
		if len(h.Keys[i].Points) == 0 {
			continue
		}
		figure, err := HistorySVG(h, &h.Keys[i], base)
		if err != nil {
			return err
		}
		page.Figures = append(page.Figures, figure)
	}
	return writePage(w, "history.html", nil, page)
}
