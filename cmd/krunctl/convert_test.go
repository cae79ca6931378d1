package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestAFailedExportLeavesTheOldFile(t *testing.T) {
	b := newExperiment(t)
	b.run(results.Completed)
	b.cfg.VMs[0].Iterations = 9 // the next run has more iterations
	b.run(results.Completed)
	file := filepath.Join(t.TempDir(), "out.csv")
	b.must(os.WriteFile(file, []byte("old"), 0o644))
	r := krunctl(t, "convert", "--to", "csv", "--rows", "wide", "-o", file, b.dir())
	got, err := os.ReadFile(file)
	must.Be(t, r.code == exitError && string(got) == "old" && err == nil &&
		strings.Contains(r.stderr, "slot 1 has 9"), "file", got, err, r.text())
	krunctl(t, "convert", "--to", "csv", "--rows", "wide", "--iterations", "0-3", "-o", file, b.dir()).says(t,
		exitOK, "", "")
}

func TestADiskThatIsFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	b := complete(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	b.must(err)
	defer full.Close()
	var stderr strings.Builder
	code := run([]string{"convert", "--to", "csv", b.dir()}, nil, full, &stderr)
	must.Be(t, code == exitError && strings.Contains(stderr.String(), "no space left"), "exit", code,
		stderr.String())
}

// TestExportEvents: events as a table and in a trace.
func TestExportEvents(t *testing.T) {
	b := complete(t)
	if r := krunctl(t, "convert", "--to", "csv", "--rows", "events", b.dir()); r.code != exitOK ||
		r.stdout != "benchmark,vm,variant,pexec,slot,attempt,iteration,kind,name,time_ns,duration_ns,"+
			"argument\n" {
		t.Error(r.text())
	}
	r := krunctl(t, "convert", "--to", "trace", "--key", "*:C:*", b.dir())
	must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, `{"displayTimeUnit":"ns","traceEvents":[`) &&
		strings.Contains(r.stdout, `"iteration 0"`) && !strings.Contains(r.stdout, "CPython"), r.text())
}

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

func TestImportConfig(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.krun"), filepath.Join(dir, "y.toml")
	text := "VMS = {\"C\": {\"vm_def\": NativeCodeVMDef(), \"variants\": [\"v\"]}}\n" +
		"VARIANTS = {\"v\": EntryPoint(\"bench.so\", subdir=\"c\")}\nBENCHMARKS = {\"nbody\": 15}\n" +
		"HEAP_LIMIT = 2097152\nos.system(\"touch /tmp/krund-test-was-run\")\n"
	must.Do(t, os.WriteFile(in, []byte(text), 0o600))
	r := krunctl(t, "convert", "--to", "toml", in, "-o", out)
	r.says(t, exitOK, "", `line 5: os.system("touch /tmp/krund-test-was-run") has no counterpart`)
	_, err := os.Lstat("/tmp/krund-test-was-run")
	must.Be(t, err != nil, "the program was run")
	krunctl(t, "check", "--plan", out).says(t, exitOK, "nbody:C:v", "", "the result is no configuration")
	written, _ := os.ReadFile(out)
	must.Contain(t, string(written), "heap = \"2GiB\"", "wrote", written)
}

// TestImportConfigOntoItself: the user's configuration of Krun is not replaced by its conversion.
func TestImportConfigOntoItself(t *testing.T) {
	const text = "VMS = {}\n"
	name := save(t, "old.krun", text)
	krunctl(t, "convert", "--to", "toml", name, "-o", name).says(t, exitUsage, "", "")
	got, err := os.ReadFile(name)
	must.Be(t, err == nil && string(got) == text, got, err)
}

// TestImportConfigKeepsFiles: a file that exists is not replaced, and what is far larger than a
// configuration is not read.
func TestImportConfigKeepsFiles(t *testing.T) {
	const precious = "precious"
	name, out := save(t, "old.krun", "VMS = {}\n"), save(t, "new.toml", precious)
	krunctl(t, "convert", "--to", "toml", name, "-o", out).says(t, exitUsage,
		"", out+" exists; name another file, or remove it")
	got, err := os.ReadFile(out)
	must.Be(t, err == nil && string(got) == precious, got, err)
	large := save(t, "large.krun", strings.Repeat("# x\n", 1<<18+1))
	krunctl(t, "convert", "--to", "toml", large).says(t, exitError, "", "more than 1048576 bytes")
}

// TestImportConfigReadsBelow: execfile reads a file beside the configuration, but nothing to which
// a link leads out of its directory, and no FIFO.
func TestImportConfigReadsBelow(t *testing.T) {
	dir, outside := t.TempDir(), save(t, "secret.krun", "SECRET = 1\n")
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must.Do(t, errors.Join(os.Symlink(outside, filepath.Join(dir, "link.krun")),
		syscall.Mkfifo(filepath.Join(dir, "fifo.krun"), 0o600)))
	write("base.krun", "VMS = {\"C\": {\"vm_def\": NativeCodeVMDef(), \"variants\": [\"v\"]}}\n"+
		"VARIANTS = {\"v\": EntryPoint(\"bench.so\")}\nBENCHMARKS = {\"nbody\": 15}\n")
	write("own.krun", "execfile('base.krun', globals())\nN_EXECUTIONS = 7\nexecfile('link.krun')\n"+
		"execfile('fifo.krun')\n")
	r := krunctl(t, "convert", "--to", "toml", filepath.Join(dir, "own.krun"))
	must.Be(t, r.code == exitOK && strings.Contains(r.stdout, "executions = 7") &&
		strings.Contains(r.stdout, "nbody = { parameter = 15 }"), r.text())
	for _, want := range []string{"line 3: ", "path escapes from parent", "line 4: ", "it is a FIFO"} {
		must.Contain(t, r.stderr, want)
	}
	must.Be(t, !strings.Contains(r.stderr, "SECRET"), "the file outside was read", r.stderr)
}

// TestImportConfigIsBounded: a configuration that takes all memory, in one operation or in many,
// ends the process that evaluates it, and no other.
func TestImportConfigIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"doubling": "x = 'a'\nwhile True: x += x\n",
		"format":   "x = '%s' * 100000 % (('a' * 100000,) * 100000)\n",
	} {
		name := save(t, name+".krun", text)
		krunctl(t, "convert", "--to", "toml", name).says(t, exitError, "",
			"its evaluation takes more than 10 s or 512 MiB of memory", name)
	}
}

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
