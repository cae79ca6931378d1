package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/report/console"
	"krund/internal/trial"
	"krund/rig/must"
)

// writer is a command that writes to OUT, a place that the user names. DIR is an experiment, JMH a
// file of JMH, KRUN a configuration of Krun.
type writer struct {
	name string
	file string // that it writes, below the place; "" is the place itself
	args string
}

// inputs replaces what the writers read.
type inputs []string

func (w writer) words(in inputs, place string) []string {
	return strings.Fields(strings.NewReplacer(append(in, "OUT", place)...).Replace(w.args))
}

var writers = []writer{
	{"analyze", "", "analyze --format json -o OUT DIR"},
	{"table", "", "analyze --table -o OUT DIR"},
	{"compare", "", "compare -f html -o OUT DIR DIR"},
	{"plot", "", "report -o OUT DIR"},
	{"export", "", "convert --to csv -o OUT DIR"},
	{"export-executions", "", "convert --to jsonl --rows executions -o OUT DIR"},
	{"export-wide", "C_default-c.csv", "convert --to csv --rows wide -o OUT DIR"},
	{"convert-krun", "", "convert --to krun -o OUT DIR"},
	{"convert-go", "", "convert --to go -o OUT DIR"},
	{"convert-parquet", "benchmark=fasta/vm=C/variant=default-c/iterations.parquet",
		"convert --to parquet -o OUT DIR"},
	{"import", "", "convert --to krun -o OUT JMH"},
}

// place makes the directory that the file of a writer is in, and returns what to give with -o and
// where the file will be.
func (w writer) place(t *testing.T) (output, file string) {
	t.Helper()
	dir := t.TempDir()
	if w.file == "" {
		file = filepath.Join(dir, "out.svg") // plot chooses by the name
		return file, file
	}
	file = filepath.Join(dir, filepath.FromSlash(w.file))
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	return dir, file
}

// analyzedDirectory is an experiment with its analysis beside it, so that no command repeats it.
func analyzedDirectory(t *testing.T) string {
	t.Helper()
	dir := krundDirectory(t, t.TempDir())
	krunctl(t, "analyze", dir).works(t)
	return dir
}

func writerInputs(t *testing.T) inputs {
	t.Helper()
	jmh := save(t, "in.json",
		`[{"benchmark":"x.Y.z","primaryMetric":{"scoreUnit":"ms/op","rawData":[[100,101,102]]}}]`)
	return inputs{"DIR", analyzedDirectory(t), "JMH", jmh, "KRUN", save(t, "old.krun", "VMS = {}\n")}
}

// eachWriter runs test for each command that writes.
func eachWriter(t *testing.T, test func(t *testing.T, file string, run func() ran)) {
	t.Helper()
	in := writerInputs(t)
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			output, file := w.place(t)
			test(t, file, func() ran { return krunctl(t, w.words(in, output)...) })
		})
	}
}

func mode(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info := must.Get(os.Lstat(file))(t)
	return info.Mode()
}

// makeDevice makes a character device, or skips the test where that is not permitted.
func makeDevice(t *testing.T, file string, major, minor uint32) {
	t.Helper()
	err := unix.Mknod(file, unix.S_IFCHR|0o666, int(unix.Mkdev(major, minor)))
	if errors.Is(err, syscall.EPERM) {
		t.Skip("devices need root: ", err)
	}
	must.Do(t, err)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if errors.Is(err, syscall.EACCES) {
		t.Skip("the file system has no devices: ", err)
	}
	must.Do(t, err)
	_ = f.Close()
}

// TestAnalysisNeverReplacesADevice: also where no -o names it.
func TestAnalysisNeverReplacesADevice(t *testing.T) {
	in := krundDirectory(t, t.TempDir())
	file := filepath.Join(in, "analysis.json")
	makeDevice(t, file, 1, 3)
	r := krunctl(t, "analyze", in)
	m := mode(t, file)
	must.Be(t, m&fs.ModeCharDevice != 0 && r.code == exitError && strings.Contains(r.stderr, "-o FILE"),
		"the device is now", m, r.text())
}

// TestOutput: what -o names and is no file stays what it is, for each command that writes; those
// that cannot take it say what is there.
func TestOutput(t *testing.T) {
	must.Long(t)
	for what, c := range map[string]struct {
		code int
		say  string
		make func(t *testing.T, file string)
	}{
		"/dev/null": {exitOK, "", func(t *testing.T, file string) { makeDevice(t, file, 1, 3) }},
		"/dev/full": {exitError, "no space left on device",
			func(t *testing.T, file string) { makeDevice(t, file, 1, 7) }},
		"a link to a file": {exitOK, "", func(t *testing.T, file string) {
			target := writeText(t, filepath.Join(t.TempDir(), "target"), "old")
			must.Do(t, os.Symlink(target, file))
		}},
		"a dangling link": {exitError, "a symbolic link to",
			func(t *testing.T, file string) { must.Do(t, os.Symlink(file+".missing", file)) }},
		"a directory": {exitError, "is a directory",
			func(t *testing.T, file string) { must.Do(t, os.Mkdir(file, 0o755)) }},
	} {
		t.Run(what, func(t *testing.T) {
			eachWriter(t, func(t *testing.T, file string, run func() ran) {
				c.make(t, file)
				before := mode(t, file)
				run().says(t, c.code, "", c.say)
				must.Equal(t, mode(t, file), before, "it was")
				must.Refused(os.Lstat(file+".missing"))(t, "", "the missing target was created")
			})
		})
	}
}

// TestReportNeverReplaces: a page's name that is no page stays what it is, and so does the old
// report; so it does if the new one cannot be finished.
func TestReportNeverReplaces(t *testing.T) {
	must.Long(t)
	in := analyzedDirectory(t)
	fifo := func(t *testing.T, file string) { must.Do(t, unix.Mkfifo(file, 0o600)) }
	link := func(t *testing.T, file string) { must.Do(t, os.Symlink(in, file)) }
	full := func(t *testing.T, file string) { must.Do(t, os.Mkdir(file, 0o755)) }
	for name, make := range map[string]func(t *testing.T, file string){"index.html": fifo,
		"keys/k0000.html": link, "files.sha256": fifo, "index.html.krunctl-part": link,
		"plots/k0000-0.svg.krunctl-part": full} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			krunctl(t, "report", in, "-o", out).works(t)
			file := filepath.Join(out, name)
			err := os.Remove(file)
			must.Need(t, err == nil || errors.Is(err, fs.ErrNotExist), err)
			make(t, file)
			before, others := mode(t, file), contents(t, out)
			krunctl(t, "report", in, "-o", out).says(t, exitError, "", "")
			must.Equal(t, mode(t, file), before, "it was")
			must.Be(t, maps.Equal(others, contents(t, out)), "the rest of the report has changed")
		})
	}
}

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
