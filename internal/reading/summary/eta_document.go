package summary

import (
	"fmt"
	"time"

	"krund/internal/display"
)

// ETADocument is the form of an ETA in the documents of plan and status.
type ETADocument struct {
	Known bool `json:"known"` // every outstanding key was measured
	// null when nothing was measured; a lower bound when Known is false
	RemainingNS *int64   `json:"remaining_ns"`
	WaitsNS     int64    `json:"waits_ns"`   // the part for waits, boots and the like
	BetweenNS   int64    `json:"between_ns"` // of these, per process execution
	Measured    bool     `json:"between_measured"`
	Unknown     []string `json:"unknown_keys"` // outstanding keys that were never measured
}

// Document returns the form for documents.
func (e ETA) Document() ETADocument {
	d := ETADocument{
		Known: e.Exact(), WaitsNS: int64(e.Waits), BetweenNS: int64(e.Between), Measured: e.Measured,
		Unknown: []string{},
	}
	if e.Known {
		total := int64(e.Total)
		d.RemainingNS = &total
	}
	for _, k := range e.Unknown {
		d.Unknown = append(d.Unknown, k.String())
	}
	return d
}

// String returns a readable form of the estimate.
func (e ETADocument) String() string {
	basis := "configured waits"
	if e.Measured {
		basis = "measured waits and boots"
	}
	waits := display.Duration(time.Duration(e.WaitsNS))
	switch {
	case e.RemainingNS == nil:
		return "unknown until something has been measured; " + waits + " of " + basis
	case *e.RemainingNS == 0:
		return "nothing is left to run"
	}
	remaining := display.Duration(time.Duration(*e.RemainingNS))
	if !e.Known {
		return fmt.Sprintf("at least %s; %s not yet measured", remaining,
			display.Count(len(e.Unknown), "key"))
	}
	return fmt.Sprintf("%s, of which %s %s", remaining, waits, basis)
}
