package display

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestCSVFormulas: no cell is a formula, every number stays one, and the row of the caller stays as
// it is. What begins a formula is what OWASP lists (CSV Injection).
func TestCSVFormulas(t *testing.T) {
	cells := []string{"", "fasta", "=cmd|' /C calc'!A0", "@SUM(A1)", "-1+1", "+", "-", "\t=1", "\r=1", "\n=1",
		"a=1", "-1", "-1.5e-07", "+3", "-Inf", "1e400", "-1e400"}
	want := []string{"", "fasta", "'=cmd|' /C calc'!A0", "'@SUM(A1)", "'-1+1", "'+", "'-", "'\t=1", "'\r=1",
		"'\n=1", "a=1", "-1", "-1.5e-07", "+3", "-Inf", "1e400", "-1e400"}
	before := slices.Clone(cells)
	var b strings.Builder
	must.Do(t, NewCSV(&b).WriteAll([][]string{cells, {"x"}}))
	in := csv.NewReader(strings.NewReader(b.String()))
	in.FieldsPerRecord = -1
	rows, err := in.ReadAll()
	must.Be(t, err == nil && len(rows) == 2 && slices.Equal(rows[0], want), rows, err, want)
	must.EqualList(t, cells, before, "the caller's row became")
}

// TestJSON: text is not escaped for HTML, because no page contains it.
func TestJSON(t *testing.T) {
	var b strings.Builder
	must.Do(t, WriteJSON(&b, map[string]string{"a": "<b>"}))
	must.Equal(t, b.String(), "{\n  \"a\": \"<b>\"\n}\n")
}
