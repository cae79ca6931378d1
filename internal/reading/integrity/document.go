package integrity

import (
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
)

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document is the JSON form of a CheckReport.
type Document struct {
	Format    int                `json:"format"`
	Directory string             `json:"folder"`
	OK        bool               `json:"ok"`
	Slots     summary.SlotCounts `json:"slots"`
	CheckReport
}

// Document returns the JSON form of the check of a directory.
func (r CheckReport) Document(dir string) Document {
	doc := Document{Format: Format, Directory: dir, OK: len(r.Problems) == 0,
		Slots: summary.CountsOf(r.Slots), CheckReport: r}
	doc.Problems, doc.Notes = append([]Defect{}, r.Problems...), append([]Defect{}, r.Notes...)
	all := []results.Outcome{results.Completed, results.Error, results.Timeout, results.Rerun}
	for _, outcome := range all {
		doc.Outcomes[outcome] += 0 // so that it is there
	}
	return doc
}
