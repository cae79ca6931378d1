package main

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestFormulas: names in a file of another tool are not trusted. No command writes one into CSV
// such that a spreadsheet takes it for a formula.
func TestFormulas(t *testing.T) {
	t.Chdir(t.TempDir()) // so that the name of the file, which is the source, begins a line
	values := strings.TrimSuffix(strings.Repeat("1.5,1.25,1.75,", 20), ",")
	in := writeText(t, "=jmh.json", `[{"benchmark":"-1+1","mode":"avgt",`+
		`"primaryMetric":{"scoreUnit":"us/op","rawData":[[`+values+`],[`+values+`],[`+values+`]]}}]`)
	for _, args := range [][]string{{"analyze", "--similarity", "--format", "csv"}, {"enough",
		"stability", "--format", "csv"},
		{"enough", "optimize", "--format", "csv"},
		{"analyze", "--format", "csv"}, {"compare", "--format", "csv", in}} {
		got := krunctl(t, append(args, in)...)
		rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
		must.Be(t, err == nil && len(rows) >= 2 && rows[1][0][:1] == "'", args, rows, err, got.stderr)
		for _, row := range rows {
			for _, cell := range row {
				_, text := strconv.ParseFloat(cell, 64)
				must.Be(t, text == nil || strings.TrimLeft(cell, "=-") == cell, args, "the cell", cell)
			}
		}
	}
}
