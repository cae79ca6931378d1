package trial

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
)

// hyperfineResult is an entry of hyperfine's JSON, version 1.19.
type hyperfineResult struct {
	Command    string            `json:"command"`
	Mean       warmup.Real       `json:"mean"`
	SD         warmup.Real       `json:"stddev"`
	Median     warmup.Real       `json:"median"`
	User       *float64          `json:"user"`
	System     *float64          `json:"system"`
	Min        warmup.Real       `json:"min"`
	Max        warmup.Real       `json:"max"`
	Times      []float64         `json:"times"`
	Memory     []int64           `json:"memory_usage_byte"`
	ExitCodes  []int             `json:"exit_codes"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// HyperfineJSON writes the results as hyperfine's --export-json does. A command that is too short
// to tell, or failed, has no times.
func (a Answer) HyperfineJSON(w io.Writer) error {
	out := struct {
		Results []hyperfineResult `json:"results"`
	}{[]hyperfineResult{}}
	for _, r := range a.Subjects {
		h := hyperfineResult{Command: r.Text, Mean: r.Mean, SD: r.SD, Median: r.Median, User: r.User,
			System: r.System, Min: r.Min, Max: r.Max, Times: r.Times, Memory: r.Memory,
			ExitCodes: r.ExitCodes}
		for _, v := range r.Values {
			if h.Parameters == nil {
				h.Parameters = map[string]string{}
			}
			h.Parameters[v.Name] = v.Value
		}
		out.Results = append(out.Results, h)
	}
	return display.WriteJSON(w, out)
}

// HyperfineCSV writes the results as hyperfine's --export-csv does, in seconds. What is not known
// is empty.
func (a Answer) HyperfineCSV(w io.Writer) error {
	head := strings.Split("command,mean,stddev,median,user,system,min,max", ",")
	var names []string
	for _, r := range a.Subjects {
		for _, v := range r.Values {
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
				head = append(head, "parameter_"+v.Name)
			}
		}
	}
	rows := [][]string{head}
	for _, r := range a.Subjects {
		cells := []string{r.Text}
		for _, v := range []*float64{(*float64)(&r.Mean), (*float64)(&r.SD), (*float64)(&r.Median), r.User,
			r.System, (*float64)(&r.Min), (*float64)(&r.Max)} {
			cell := ""
			if v != nil && !math.IsNaN(*v) {
				cell = strconv.FormatFloat(*v, 'g', -1, 64)
			}
			cells = append(cells, cell)
		}
		for _, name := range names {
			cell := ""
			if i := slices.IndexFunc(r.Values, func(v Value) bool { return v.Name == name }); i >= 0 {
				cell = r.Values[i].Value
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
	}
	return display.NewCSV(w).WriteAll(rows)
}

// Sort orders the subjects by their mean and the comparisons by their ratio, or leaves both in the
// order of the arguments.
func (a *Answer) Sort(byMean bool) {
	less := func(x, y float64) int { // NaN comes last
		return cmp.Or(arith.One(math.IsNaN(x))-arith.One(math.IsNaN(y)), cmp.Compare(x, y))
	}
	if byMean {
		slices.SortStableFunc(a.Subjects, func(x, y Timing) int {
			return less(float64(x.Mean), float64(y.Mean))
		})
		slices.SortStableFunc(a.Compared, func(x, y Versus) int { return less(x.Ratio, y.Ratio) })
	}
}
