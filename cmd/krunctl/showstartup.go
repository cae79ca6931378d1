package main

import (
	"errors"

	"krund/internal/analysis/bootstrap"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

// Format of the JSON of startup. See docs/output.md.
const startupFormat = 1

type startupJSON struct {
	Format     int                  `json:"format"`
	Experiment string               `json:"experiment"`
	Directory  string               `json:"folder"`
	By         string               `json:"by"`
	Confidence float64              `json:"confidence"`
	Resamples  int                  `json:"resamples"`
	Seed       uint64               `json:"seed"`
	Damaged    int                  `json:"damaged_records"`
	Rows       []summary.StartupRow `json:"rows"`
}

// startup prints how long each VM takes to start.
func (a *app) startup(arg string, o showOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return err
	}
	doc := startupJSON{
		Format: startupFormat, Directory: f.Dir(), By: o.by, Confidence: bootstrap.DefaultConfidence,
		Resamples: bootstrap.DefaultResamples, Rows: []summary.StartupRow{},
	}
	c := summary.NewStartup(summary.By(o.by))
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if rec.Counts {
			c.Add(rec.Record)
		}
	}
	rows, err := c.Rows(summary.StartupOptions{})
	if err != nil {
		return err
	}
	doc.Damaged = m.Damaged
	if o.format == "json" {
		doc.Rows = append(doc.Rows, rows...)
		return a.printJSON(doc)
	}
	if len(rows) == 0 {
		return errors.New("no record counts yet; `krunctl status` shows how far the experiment is")
	}
	a.console().Startup(o.by, bootstrap.DefaultConfidence, rows)
	return nil
}
