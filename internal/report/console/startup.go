package console

import (
	"fmt"
	"strconv"

	"krund/internal/display"
	"krund/internal/reading/summary"
)

// Startup writes how long VMs or keys take to start, with intervals of this confidence.
func (out *Console) Startup(doc summary.Startup) {
	interval := strconv.FormatFloat(100*doc.Confidence, 'f', -1, 64) + "% interval"
	table := make([][]string, 0, len(doc.Rows))
	for _, r := range doc.Rows {
		stamped := 0
		if r.First != nil {
			stamped = r.First.Executions
		}
		cells := []string{r.Name, fmt.Sprintf("%d/%d", stamped, r.Executions)}
		for _, t := range []*summary.StartupTime{r.Init, r.First} {
			if t == nil {
				cells = append(cells, "-", "-")
				continue
			}
			bounds := "-"
			if t.Low != nil && t.High != nil {
				bounds = display.Nanoseconds(*t.Low) + " - " + display.Nanoseconds(*t.High)
			}
			cells = append(cells, display.Nanoseconds(t.Mean), bounds)
		}
		table = append(table, cells)
	}
	display.NarrowTable(out.w, out.width, 1,
		[]string{string(doc.By), ">executions", ">runner", ">" + interval, ">first", ">" + interval}, table)
}
