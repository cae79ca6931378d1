package main

import (
	"strings"

	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

// summary prints a row for each key.
func (a *app) summary(arg string, o showOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	doc, err := a.summaryOf(arg, pattern)
	if err != nil {
		return err
	}
	return a.answer(o.format, doc, func() { a.console().Summary(doc.Keys) })
}

func (a *app) summaryOf(arg string, pattern *key.Pattern) (summary.Document, error) {
	if _, err := a.fsys.Lstat(arg); err == nil && !strings.HasSuffix(arg, ".krun") &&
		!a.reader(1).IsExperiment(arg) {
		return summary.OfFile(a.reader(1), arg, pattern)
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return summary.Document{}, err
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return summary.Document{}, err
	}
	return summary.OfExperiment(f, m, pattern, a.talk)
}
