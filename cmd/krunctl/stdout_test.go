package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/report/console"
	"krund/internal/trial"
	"krund/rig/must"
)

// standardOutputs are the names of standard output.
var standardOutputs = []string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}

// TestOutputToStandardOutput: -o - is standard output, which then has what a file would have got
// and nothing else; so have the names of the device, to which a shell may have redirected a file.
func TestOutputToStandardOutput(t *testing.T) {
	in := writerInputs(t)
	more := []writer{
		{"optimize", "", "enough optimize --metric rmad --at-least 3 --write OUT DIR"},
		{"history", "", "history --format csv -o OUT DIR"},
		{"import-config", "", "convert --to toml KRUN -o OUT"}}
	for _, w := range slices.Concat(writers, more) {
		if w.name == "convert-parquet" {
			continue // it writes a directory
		}
		t.Run(w.name, func(t *testing.T) {
			output, file := w.place(t)
			r := krunctl(t, w.words(in, output)...)
			want, err := os.ReadFile(file)
			must.Need(t, r.code == exitOK && err == nil, err, r.text())
			for _, to := range standardOutputs {
				args := w.words(in, to)
				if w.name == "plot" {
					args = append(args, "--format", "svg")
				}
				r := krunctl(t, args...)
				must.Be(t, r.code == exitOK && r.stdout == string(want), args, len(r.stdout),
					"bytes on standard output, want", len(want), r.text())
			}
		})
	}
}

// TestPlotFormat: where the name has no ending, --format determines the format.
func TestPlotFormat(t *testing.T) {
	in := analyzedDirectory(t)
	file := filepath.Join(t.TempDir(), "picture")
	krunctl(t, "report", "-o", file, "--format", "pdf", in).says(t, exitOK, "", "")
	text, err := os.ReadFile(file)
	must.Be(t, err == nil && strings.HasPrefix(string(text), "%PDF"), text, err)
}

// TestImportConfigRedirected: the file behind a redirected standard output exists, and is no reason
// to refuse it; the mistakes are those of an experiment with the name of the configuration.
func TestImportConfigRedirected(t *testing.T) {
	name := save(t, "old.krun", "VMS = {}\n")
	for _, args := range [][]string{{}, {"-o", "-"}, {"-o", "/dev/stdout"}} {
		r := krunctl(t, append([]string{"convert", "--to", "toml", name}, args...)...)
		must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, "# converted") &&
			strings.Contains(r.stderr, "\nold.toml:"), args, r.text())
	}
}

// TestMarkdownOnStandardOutput: the table of time takes the place of its text.
func TestMarkdownOnStandardOutput(t *testing.T) {
	var out strings.Builder
	a := &app{stdout: &out}
	must.Do(t, a.printAnswer(trial.Answer{}, timeOptions{markdown: "-"}))
	var table strings.Builder
	must.Do(t, console.Markdown(&table, trial.Answer{}))
	must.Equal(t, out.String(), table.String())
}
