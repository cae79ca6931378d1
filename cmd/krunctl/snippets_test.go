package main

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestSnippets runs the examples of docs/exchange.md in Python and R on an export, where their
// packages are installed: each prints the median of every key.
func TestSnippets(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "exchange.md")))(t)
	dir := t.TempDir()
	b := mixed(t)
	krunctl(t, "convert", "--to", "csv", "-o", filepath.Join(dir, "warmup.csv"), b.dir()).works(t)
	want := ""
	blocks := regexp.MustCompile("(?s)```(python|r)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	for _, block := range blocks {
		language, code := block[1], block[2]
		name, probe := "R", "q()"
		if language == "python" {
			name = regexp.MustCompile(`import (\w+)`).FindStringSubmatch(code)[1]
			probe = "import " + strings.TrimPrefix(code[:strings.IndexByte(code, '\n')], "import ")
		}
		t.Run(name, func(t *testing.T) {
			if name == "pyarrow" {
				code = strings.ReplaceAll(code, "DIR", parquetOf(t, b.dir()))
			}
			run := interpreter(t, language, probe)
			if run == nil {
				t.Skipf("%s is not installed: its example is not run", name)
			}
			c := exec.CommandContext(t.Context(), run[0], append(run[1:], code)...)
			c.Dir = dir
			out, err := c.Output()
			must.Do(t, err, out)
			if name == "pyarrow" {
				n, err := strconv.Atoi(strings.TrimSpace(string(out)))
				must.Be(t, err == nil && n != 0, string(out), "rows")
				return
			}
			rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
			must.Need(t, err == nil && len(rows) != 0 && len(rows[0]) == 4, err, out)
			rounded := ""
			for _, row := range rows {
				v, err := strconv.ParseFloat(row[3], 64)
				must.Be(t, err == nil && v > 0, row, err)
				rounded += strings.Join(row[:3], ":") + " " + strconv.FormatFloat(v, 'g', 6, 64) + "\n"
			}
			if want == "" {
				want = rounded
			}
			must.Equal(t, rounded, want, "others print")
		})
	}
}

// parquetOf converts an experiment and returns the directory.
func parquetOf(t *testing.T, experiment string) string {
	t.Helper()
	dir := t.TempDir() + "/"
	krunctl(t, "convert", "--to", "parquet", "-o", dir, experiment).works(t)
	return dir
}

// interpreter returns the command that runs a text of the language; nil if none has what probe
// needs.
func interpreter(t *testing.T, language, probe string) []string {
	t.Helper()
	for _, run := range map[string][][]string{
		"python": {{"python3", "-c"}, {"/usr/bin/python3", "-c"}}, "r": {{"Rscript", "-e"}},
	}[language] {
		if exec.CommandContext(t.Context(), run[0], append(run[1:len(run):len(run)], probe)...).Run() == nil {
			return run
		}
	}
	return nil
}
