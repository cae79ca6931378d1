package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/BurntSushi/toml"
	"gonum.org/v1/plot/vg"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/reading/experiment"
)

// HistoryFigure is a static plot of a key over the versions: the value of each with its interval,
// the levels, and the changes with the versions that may have made them.
type HistoryFigure struct {
	History *history.History
	Key     *history.KeyHistory
	Base    string // unit of the values
	Narrow  bool   // for a part of a page, which may be a phone's; not beside other drawings
}

// HistoryPlots draws all keys.
func HistoryPlots(h *history.History, base string) []Drawing {
	var list []Drawing
	for i := range h.Keys {
		if len(h.Keys[i].Points) > 0 {
			list = append(list, &HistoryFigure{History: h, Key: &h.Keys[i], Base: base})
		}
	}
	return list
}

const historyHeight = 150

func (f *HistoryFigure) title() string     { return historyKey(f.Key) }
func (f *HistoryFigure) height() vg.Length { return titleHeight + historyHeight + axisHeight }

func (f *HistoryFigure) width() vg.Length {
	const narrow = 560
	if f.Narrow {
		return narrow
	}
	return figureUnits
}

func (f *HistoryFigure) draw(c canvas, top vg.Length, _ int) {
	right := f.width() - (figureUnits - plotRight)
	title(c, f.title(), plotLeft, top, right)
	top += titleHeight
	span := f.span()
	p := panel{canvas: c, size: textSize, xs: Span{-0.5, float64(len(f.History.Versions)) - 0.5}, ys: span,
		unit: display.UnitOf(f.Base).For(span.High), Rectangle: box(plotLeft, right, top, historyHeight)}
	for i := range f.Key.Changes {
		p.culprits(&f.Key.Changes[i])
	}
	p.frame(4)
	f.points(p)
	for _, l := range f.Key.Levels {
		y := p.y(l.Value)
		p.lines(levelInk,
			[]vg.Point{{X: p.x(float64(l.From) - 0.4), Y: y}, {X: p.x(float64(l.To) + 0.4), Y: y}})
	}
	f.others(p)
	replaced, _ := f.History.Seams(f.Key)
	for _, s := range replaced {
		p.mark(float64(s.Version)-0.5, kernelLineInk, "machine replaced", 0)
	}
	for i := range f.Key.Changes {
		f.change(p, i)
	}
	f.versions(p)
	p.text(label{text: p.unit.Name(), at: vg.Point{X: textSize, Y: p.Min.Y + historyHeight/2}, size: textSize,
		anchor: middle, upright: true})
}

// span is that of the values, with a margin; parts of intervals beyond it are cut off.
func (f *HistoryFigure) span() Span {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range f.Key.Points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	const share, least = 0.15, 0.01 // of the range; of the value
	margin := max(share*(high-low), least*high)
	return Span{low - margin, high + margin}
}

// culprits draws the versions that may have made a change.
func (p panel) culprits(c *history.Change) {
	p.area(bandInk, "", corners(vg.Rectangle{
		Min: vg.Point{X: p.x(float64(c.First) - 0.5), Y: p.Min.Y},
		Max: vg.Point{X: p.x(float64(c.Last) + 0.5), Y: p.Max.Y}}))
}

func (f *HistoryFigure) points(p panel) {
	var bars [][]vg.Point
	var centers []vg.Point
	inside := func(v float64) vg.Length { return p.y(min(max(v, p.ys.Low), p.ys.High)) }
	for _, q := range f.Key.Points {
		x := p.x(float64(q.Version))
		bars = append(bars, []vg.Point{{X: x, Y: inside(q.Low)}, {X: x, Y: inside(q.High)}})
		centers = append(centers, vg.Point{X: x, Y: p.y(q.Value)})
	}
	const radius = 2.2
	p.lines(gridInk, bars...)
	p.circles(seriesInk, radius, centers)
}

// others draws a line where something happened to the machine that did not change this key.
func (f *HistoryFigure) others(p panel) {
	var lines [][]vg.Point
	for i := range f.History.Events {
		e := &f.History.Events[i]
		if e.Machine == f.Key.Machine && f.changed(e) == nil {
			lines = append(lines, p.upright(p.x(float64(e.Version)-0.5)))
		}
	}
	p.lines(kernelLineInk, lines...)
}

// changed returns the change of the key in an event; nil if there is none.
func (f *HistoryFigure) changed(e *history.Event) *history.Change {
	for _, k := range e.Keys {
		own := &f.History.Keys[k.Key]
		if own.Key == f.Key.Key && own.Machine == f.Key.Machine {
			return &own.Changes[k.Change]
		}
	}
	return nil
}

// change draws a line where a change most probably happened, its size, and what made it.
func (f *HistoryFigure) change(p panel, number int) {
	const rows = 4 // of names, below that of replaced machines
	c, style := &f.Key.Changes[number], changeInk
	text := signed(c.Ratio, twoDigits)
	for i := range f.History.Events {
		e := &f.History.Events[i]
		if own := f.changed(e); own != nil && own.Version == c.Version {
			text += " " + string(e.Verdict)
			break
		}
	}
	if c.Muted {
		style, text = differentInk, text+" muted"
	}
	p.mark(float64(c.Version)-0.5, style, text, 1+number%rows)
}

// mark draws a line with a name in a row of names.
func (p panel) mark(at float64, style ink, text string, row int) {
	const line = 14
	x := p.x(at)
	p.lines(style, p.upright(x))
	l := label{text: text, at: vg.Point{X: x + 4, Y: p.Min.Y + 9 + vg.Length(row*line)}, size: nameSize,
		halo: true}
	if x > (p.Min.X+p.Max.X)/2 {
		l.at.X, l.anchor = x-4, end
	}
	p.text(l)
}

// versions draws the labels of some versions.
func (f *HistoryFigure) versions(p panel) {
	const longest, width = 16, 110 // letters; of a label with its distance
	for _, t := range p.xs.WholeTicks(int((p.Max.X - p.Min.X) / width)) {
		if v := int(t); v >= 0 && v < len(f.History.Versions) {
			label := display.PlainLine(versionLabel(f.History, v))
			p.below(display.Middle(label, longest), p.x(t), numbersBelow, nameSize)
		}
	}
	p.axisName("version")
}

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

// HistoryView says how to write a history.
type HistoryView struct {
	Format string // text, markdown, html, csv, json, svg, pdf or png
	Unit   string // of the values
	Width  int    // of the terminal; 0: any
	Alerts bool   // text and Markdown: keys alone, without the events
	Keys   bool   // all keys in text, even if they are many
}

// WriteHistory writes a history: in text and Markdown the events, and the keys below them.
func WriteHistory(w io.Writer, h *history.History, v HistoryView) error {
	const many = 20 // keys of a text
	format, unit := v.Format, v.Unit
	switch format {
	case "csv":
		return HistoryCSV(w, h)
	case "json":
		return display.WriteJSON(w, h) // the document of docs/output.md
	case "html":
		return HistoryPage(w, h, unit, display.Version())
	case "svg", "pdf", "png":
		plots := HistoryPlots(h, unit)
		if len(plots) == 0 {
			return errors.New("no key has a version with a completed execution: there is nothing to plot")
		}
		pages := [][]Drawing{plots}
		if format == "pdf" {
			pages = Pages(plots)
		}
		return WritePlot(w, PlotFormat(format), pages)
	}
	table := HistoryTable(h, unit)
	switch events := EventsTable(h); {
	case v.Alerts:
	case format == "text":
		eventsText(w, h, v.Width)
		if len(h.Keys) > many && !v.Keys {
			table.Rows = nil
			table.Notes = append(table.Notes, fmt.Sprintf("%s are in --alerts, or one with --key KEY",
				display.Count(len(h.Keys), "key")))
		} else {
			fmt.Fprintln(w)
		}
	default:
		if err := events.Write(w, Format(format)); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	const unbounded = 1 << 20
	table.Narrow = cmp.Or(v.Width, unbounded)
	return table.Write(w, Format(format))
}

// WriteInjected writes how often a slowdown would have been found, as JSON or as a table.
func WriteInjected(w io.Writer, r *history.Injected, format string) error {
	if format == "json" {
		return display.WriteJSON(w, r)
	}
	t := Table{Columns: []Head{"within", ">found", ">places"}}
	found := "in no key were enough versions measured to try it"
	for _, x := range r.Within {
		share := "-"
		if x.Places > 0 {
			share = fmt.Sprintf("%.0f%%", 100*x.Found)
			found = fmt.Sprintf("found within %d versions in %.0f%% of the places", x.Versions, 100*x.Found)
		}
		t.Add(display.Count(x.Versions, "version"), share, x.Places)
	}
	t.Caption = fmt.Sprintf("A slowdown of %.3g%% of one key would have been %s (%s)", 100*r.Size, found,
		display.Count(r.Keys, "key"))
	t.Notes = []string{"the last level of each key was replayed with a slowdown from one of its versions on"}
	return t.Write(w, Format(format))
}

// ReadMutes reads the file of --mutes; "" is none.
func ReadMutes(fsys durable.FS, file string) ([]history.Mute, error) {
	if file == "" {
		return nil, nil
	}
	text, err := durable.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("read --mutes: %w", err)
	}
	var document struct {
		Mute []history.Mute `toml:"mute"`
	}
	read, err := toml.NewDecoder(bytes.NewReader(text)).Decode(&document)
	if err != nil {
		return nil, experiment.Usage(fmt.Errorf("--mutes: %s: %w", file, err))
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return nil, experiment.Usage(fmt.Errorf("--mutes: %s: %s is not known; a [[mute]] has key, version "+
			"and reason", file, unknown[0]))
	}
	return document.Mute, nil
}
