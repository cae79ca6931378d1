package summary

import (
	"errors"
	"fmt"
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
)

// Format of the JSON of  See docs/output.md.
const documentFormat = 1

// Document is a row per key, of one experiment or file of results.
type Document struct {
	Format     int      `json:"format"`
	Experiment string   `json:"experiment"`
	Directory  string   `json:"folder"`
	Hosts      []string `json:"hosts"`
	Damaged    int      `json:"damaged_records"`
	Keys       []Row    `json:"keys"`
}

// OfFile summarizes a file of results.
func OfFile(r experiment.Reader, arg string, pattern *key.Pattern) (Document, error) {
	in, err := r.Read(arg, experiment.Selection{Column: dataset.Wall})
	if err != nil {
		return Document{}, err
	}
	if err := experiment.OnlyKeys(in.Data, pattern); err != nil {
		return Document{}, err
	}
	doc := Document{Format: documentFormat, Experiment: in.Data.Experiment, Directory: arg,
		Hosts: []string{}, Keys: append([]Row{}, RowsOf(in.Data)...)}
	if in.Data.Machine != "" {
		doc.Hosts = append(doc.Hosts, in.Data.Machine)
	}
	return doc, nil
}

// OfExperiment summarizes the keys of an experiment that match the pattern; nil matches all. m has
// their records. say gets a message if the schedule cannot be read.
func OfExperiment(f experiment.Experiment, m *experiment.Records, pattern *key.Pattern,
	say func(format string, args ...any)) (Document, error) {
	var c Collector
	s, err := f.OpenSchedule()
	if err != nil {
		say("krunctl: the number of planned executions is unknown: %v", err)
	} else {
		sum, err := s.Summarize()
		if err = errors.Join(err, s.Close()); err != nil {
			return Document{}, fmt.Errorf("read the schedule: %w", err)
		}
		for _, k := range sum.Keys {
			if pattern == nil || pattern.Match(k.Key) {
				c.Plan(k.Key, k.Total())
			}
		}
	}
	doc := Document{Format: documentFormat, Directory: f.Dir(), Hosts: []string{}, Keys: []Row{}}
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if !slices.Contains(doc.Hosts, rec.Host) {
			doc.Hosts = append(doc.Hosts, rec.Host)
		}
		c.Add(rec.Record, rec.Counts)
	}
	doc.Keys, doc.Damaged = append(doc.Keys, c.Rows()...), m.Damaged
	return doc, nil
}
