package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

func save(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// TestConvert: an experiment of krund is converted to each format and back.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	in := krundDirectory(t, dir)
	krun, parquet := filepath.Join(dir, "x_results.json.bz2"), filepath.Join(dir, "parquet")
	for _, args := range [][]string{{"--to", "krun", "-o", krun, in}, {"--to", "parquet", "-o", parquet,
		in}} {
		krunctl(t, append([]string{"convert"}, args...)...).works(t)
	}
	must.Get(os.Stat(filepath.Join(parquet, "benchmark=fasta", "vm=C", "variant=default-c",
		"iterations.parquet")))(t)
	text := krunctl(t, "convert", "--to", "go", in)
	again := krunctl(t, "convert", "--to", "go", krun)
	lines := func(r ran) int {
		return strings.Count(r.stdout, "BenchmarkKrund/benchmark=fasta/vm=C/variant=default-c 1 ")
	}
	must.Be(t, text.code == exitOK && lines(text) == 1600 && lines(again) == 1600, lines(text), "and",
		lines(again), "iterations")
	csv := filepath.Join(dir, "x.csv")
	krunctl(t, "convert", "--to", "csv", "-o", csv, krun).says(t, exitOK, "", "")
	r := krunctl(t, "convert", "--to", "go", "--vm", "C", "--variant", "default-c", csv)
	must.Equal(t, lines(r), 1600, "CSV has", "iterations")
	krunctl(t, "convert", "--to", "csv", "-o", filepath.Join(dir, "csv")+"/", krun).says(t, exitOK, "",
		"csv/C_default-c.csv: ")
	class := func(in string) string {
		var doc struct {
			Rows []struct{ Classification string }
		}
		must.Do(t, json.Unmarshal([]byte(krunctl(t, "analyze", "--table", "--format", "json", in).stdout),
			&doc))
		return doc.Rows[0].Classification
	}
	a, b := class(in), class(krun)
	must.Be(t, a == b && a != "", "the class is", a, "before and", b, "after")
}

// TestReportAndCompare: commands that use the analysis.
func TestReportAndCompare(t *testing.T) {
	dir := t.TempDir()
	in := krundDirectory(t, dir)
	analyzed(t, "--delta", "5%", in).works(t)
	out := filepath.Join(dir, "deep", "er", "out")
	r := krunctl(t, "report", in, "-o", out)
	must.Need(t, r.code == exitOK && strings.TrimSpace(r.stdout) == filepath.Join(out, "index.html"),
		r.text())
	index, err := os.ReadFile(filepath.Join(out, "index.html"))
	must.Be(t, err == nil && strings.Contains(strings.Join(strings.Fields(string(index)), " "), "delta 5%"),
		"the report does not use the stored analysis", err)
	krunctl(t, "report", in, "-o", out).says(t, exitOK, "", "", "a report is not replaced")
	mine := filepath.Dir(save(t, "index.html", "<p>my own page"))
	krunctl(t, "report", in, "-o", mine).says(t, exitError, "", "not a page of krunctl")
	columns, err := os.ReadFile(filepath.Join(out, "data", "k0000-0.js"))
	must.Be(t, err == nil && strings.Contains(string(columns), `"cycles"`), "no core cycles", err)
	krunctl(t, "compare", in, in).says(t, exitOK, "fasta:C:default-c  same", "")
	other := krunFile(t, t.TempDir())
	if r := krunctl(t, "compare", "--format", "markdown", in, other); r.code != exitLeftOut ||
		!strings.Contains(r.stdout, "delta 5%") || // analyzed like in; they have no key in common
		!strings.Contains(r.stderr, "cannot be judged") {
		t.Error(r.text())
	}
	analyzed(t, other).works(t)
	krunctl(t, "compare", in, other).says(t, exitError, "", "cannot be compared")
}
