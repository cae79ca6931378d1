package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/BurntSushi/toml"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/reading/experiment"
)

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
		return writeJSON(w, h) // the document of docs/output.md
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
		return writeJSON(w, r)
	}
	t := Table{Columns: []Head{"within", ">found", ">places"}}
	found := "in no key were enough versions measured to try it"
	for _, x := range r.Within {
		share := "-"
		if x.Places > 0 {
			share = fmt.Sprintf("%.0f%%", 100*x.Found)
			found = fmt.Sprintf("found within %d versions in %.0f%% of the places", x.Versions, 100*x.Found)
		}
		t.Rows = append(t.Rows, cells(display.Count(x.Versions, "version"), share, strconv.Itoa(x.Places)))
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
