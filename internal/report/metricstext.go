package report

import (
	"fmt"
	"io"
	"strconv"

	"krund/internal/analysis/optimize"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// MetricsText prints what the metrics save, and whether their recommendations move the results by
// different amounts.
func MetricsText(w io.Writer, c *optimize.MetricsComparison) {
	var rows [][]string
	for _, m := range c.Metrics {
		row := []string{string(m.Metric)}
		for _, part := range []float64{m.Saving.Saved, m.Saving.Within1, m.Saving.Within3, m.Saving.Within5,
			m.Saving.Within10} {
			row = append(row, percentOf(warmup.Real(part)))
		}
		rows = append(rows, append(row, strconv.Itoa(m.Keys)))
	}
	fmt.Fprintf(w, "%s: change rates of the metrics' recommendations\n\n", display.Terminal(c.Source))
	display.Table(w, []string{"metric", ">saved", ">keys off by <= 1%", ">3%", ">5%", ">10%", ">keys"}, rows)
	fmt.Fprintf(w, "\nKruskal-Wallis: H = %.3f, %s, p = %.3g: ", float64(c.H),
		display.Count(c.Freedom, "degree")+" of freedom", float64(c.P))
	if !(float64(c.P) < optimize.MetricsAlpha) {
		fmt.Fprintf(w, "no difference between the metrics at %v\n", optimize.MetricsAlpha)
		return
	}
	fmt.Fprintf(w, "the metrics differ. * differs at %v (Dunn, Bonferroni)\n\n", optimize.MetricsAlpha)
	rows = nil
	for _, p := range c.Pairs {
		mark := ""
		if float64(p.P) < optimize.MetricsAlpha {
			mark = "*"
		}
		rows = append(rows, []string{string(p.A), string(p.B), fmt.Sprintf("%.2f", float64(p.Z)),
			fmt.Sprintf("%.3g", float64(p.P)), mark, fmt.Sprintf("%+.3f", float64(p.Delta)), p.Size})
	}
	display.Table(w, []string{"metric", "metric", ">z", ">p", "", ">Cliff's delta", "size"}, rows)
}
