package jobs

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/analysis/history"
	"krund/internal/hub/database"
	"krund/rig/must"
)

// TestNights: the hub's history of one revision that is measured each night is what krunctl makes
// of the same experiments: nights are versions, and a change between them is the machine's.
func TestNights(t *testing.T) {
	var points []database.Point
	for night := range 30 {
		for _, key := range []string{"a", "b", "c", "d"} {
			p := database.Point{Experiment: fmt.Sprint("x", night), Version: "rev", Source: "revision",
				Order: int64(night), Key: key, Machine: "m", Unit: "s"}
			for e := range 5 {
				value := 1 + 0.001*float64((7*night+3*e)%5)
				if night >= 20 {
					value *= 1.1
				}
				p.Values = append(p.Values, value)
			}
			points = append(points, p)
		}
	}
	points = append(points, database.Point{Experiment: "other", Version: "next", Source: "revision",
		Key: "a", Machine: "m", Unit: "KiB", Values: []float64{1}})
	v, _ := valuesOf(points)
	must.Be(t, v.Unit == "KiB" && len(v.Versions) == 1, v.Versions)
	v, with := valuesOf(points[:len(points)-1])
	var labels []string
	for _, version := range v.Versions[:3] {
		labels = append(labels, version.Label+" of "+version.Revision)
	}
	must.Equal(t, strings.Join(labels, ", "), "rev of rev, rev (2) of rev, rev (3) of rev")
	must.Need(t, len(v.Versions) == 30 && len(v.Keys) == 4, len(v.Versions), "versions")
	must.Equal(t, with[[2]string{"rev (3)", "m"}], "x2")
	h := history.Of(v.Versions, v.Keys, history.Options{})
	must.Need(t, len(h.Events) == 1, len(h.Events), "events")
	e := h.Events[0]
	must.Be(t, e.Verdict == history.ByMachine && len(e.Keys) == 4, e)
	must.Equal(t, h.Versions[e.Version].Label, "rev (21)")
}
