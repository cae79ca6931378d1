package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/BurntSushi/toml"

	"krund/internal/analysis/history"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/reading/experiment"
)

// WriteHistory writes a history in a format: text, markdown, html, csv, json, svg, pdf or png. unit
// is that of its values.
func WriteHistory(w io.Writer, h *history.History, format, unit string) error {
	switch format {
	case "csv":
		return HistoryCSV(w, h)
	case "json":
		return HistoryJSON(w, h)
	case "html":
		return HistoryPage(w, h, unit, display.Version())
	case "svg", "pdf", "png":
		const perPage = 4 // figures of a PDF's page
		plots := HistoryPlots(h, unit)
		if len(plots) == 0 {
			return errors.New("no key has a version with a completed execution: there is nothing to plot")
		}
		pages := [][]Drawing{plots}
		if format == "pdf" {
			pages = Pages(plots, perPage)
		}
		return WritePlot(w, PlotFormat(format), pages)
	}
	table := HistoryTable(h, unit)
	return table.Write(w, Format(format))
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
		Mute []struct{ Key, Version, Reason string } `toml:"mute"`
	}
	read, err := toml.NewDecoder(bytes.NewReader(text)).Decode(&document)
	if err != nil {
		return nil, experiment.Usage(fmt.Errorf("--mutes: %s: %w", file, err))
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return nil, experiment.Usage(
			fmt.Errorf("--mutes: %s: %s is not known; a [[mute]] has key, version and "+
				"reason", file, unknown[0]),
		)
	}
	var list []history.Mute
	for _, m := range document.Mute {
		list = append(list, history.Mute{Key: m.Key, Version: m.Version, Reason: m.Reason})
	}
	return list, nil
}
