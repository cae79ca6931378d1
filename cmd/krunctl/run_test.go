package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestMeant: a word that people try is answered with commands that exist, and is none itself.
func TestMeant(t *testing.T) {
	names := map[string]bool{}
	for _, c := range commands(&app{}) {
		names[c.Name()] = true
	}
	for word, answer := range display.Meant {
		must.Be(t, !names[word], word, "is a command")
		first, _, _ := strings.Cut(strings.NewReplacer(",", " ", ";", " ").Replace(answer)+" ", " ")
		must.Be(t, names[first], word, first, "is no command")
		krunctl(t, word).says(t, exitUsage, "", "what you mean may be "+answer)
	}
}

// TestCheckChooses: check asks krund about a configuration, looks at a directory, and else at this
// machine.
func TestCheckChooses(t *testing.T) {
	b := newExperiment(t)
	r := krunctl(t, "check", b.toml, "--quick")
	must.Be(t, strings.HasPrefix(r.stdout, "krund check --quick "+b.toml+"\nplan "), r.text())
	r = krunctl(t, "check", "--format", "json", b.dir())
	must.Be(t, r.code == exitOK && strings.Contains(r.stdout, `"problems"`), r.text())
	r = krunctl(t, "check")
	must.Be(t, strings.Contains(r.stdout, "turbo"), r.text())
	r = krunctl(t, "check", "--nonsense")
	must.Be(t, r.code == exitUsage && strings.Contains(r.stderr, "--nonsense"), r.text())
	r = krunctl(t, "run")
	must.Be(t, r.code == exitUsage && strings.Contains(r.stderr, "NAME.toml"), r.text())
	must.Equal(t, krunctl(t, "run", "--help").stdout, krunctl(t, "help", "run").stdout)
}

// TestMoreExecutions: run --executions changes the number in the file, once, when nothing is
// outstanding, and starts krund.
func TestMoreExecutions(t *testing.T) {
	b := newExperiment(t)
	add := func(args ...string) ran {
		return krunctl(t, append([]string{"run", b.toml, "--executions"}, args...)...)
	}
	text := func() string { return string(must.Get(os.ReadFile(b.toml))(t)) }
	was := text()
	add("+3").says(t, exitError, "", "are outstanding: `krunctl run` without --executions measures them")
	for range b.cfg.Slots() {
		b.run(results.Completed)
	}
	const last = "fasta = { parameter = 7 }\n"
	other := strings.Replace(strings.Replace(was, last, "", 1), "[benchmarks]\n", "[benchmarks]\n"+last, 1)
	b.must(identity.StoreEditions(lax(), b.directory.Editions(), []identity.Edition{
		{Number: 1, Config: other}, {Number: 2, Config: was, From: b.cfg.Slots()}}))
	add("+3").says(t, exitError, "", "but was planned as")
	must.Equal(t, text(), was, "the file of an experiment that cannot grow")
	b.must(os.Remove(b.directory.Editions()))
	add("3").says(t, exitUsage, "", "write how many more, such as +15")
	add("+3", "--quick").says(t, exitUsage, "", "--quick is not for run --executions")
	add("+3", "--dry-run").says(t, exitOK, "3 more executions of each of", "")
	must.Equal(t, text(), was, "the file")
	r := add("+3")
	must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, "3 more executions of each of") &&
		strings.HasSuffix(r.stdout, "krund run "+b.toml+"\n"), r.text())
	must.Equal(t, text(), strings.Replace(was, "executions = 2", "executions = 5", 1), "the file")
	add("+3").says(t, exitError, "", "plans more already, which was not measured yet: the experiment grows")
	must.Equal(t, text(), strings.Replace(was, "executions = 2", "executions = 5", 1), "the file")
}

// withErrors makes an experiment of 8 slots; all executions of fasta failed.
func withErrors(t *testing.T) *builder {
	t.Helper()
	b := newExperimentOf(t, experimentText)
	for i := range b.cfg.Slots() {
		if i%2 == 1 {
			b.run(results.Error, "no such file")
		} else {
			b.run(results.Completed)
		}
	}
	return b
}

func TestRerun(t *testing.T) {
	b := withErrors(t)
	before := krunctl(t, "status", "--format", "json", b.dir()).stdout
	dry := krunctl(t, "run", "--again", "--later", "--outcome", "error", "--key", "fasta:C:*", "--dry-run",
		b.dir())
	want := "       1        1  error      fasta:C:default-c\n" +
		"       5        2  error      fasta:C:default-c\n"
	must.Be(t, dry.code == exitOK && dry.stdout == want+"would run 2 slots again\n", "--dry-run",
		dry.text())
	must.Equal(t, krunctl(t, "status", "--format", "json", b.dir()).stdout, before,
		"--dry-run changed the experiment")
	r := krunctl(t, "run", "--again", "--later", "--outcome", "error", "--key", "fasta:C:*", b.dir())
	must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, want+"2 slots outstanding again"), r.text())
	krunctl(t, "check", b.dir()).says(t, exitOK, "replaced", "")
	r = krunctl(t, "repair", b.dir())
	must.Be(t, r.code == exitOK && r.stdout == "nothing to repair\n", r.text())
	krunctl(t, "show", b.dir(), "1-1").says(t, exitOK, "no such file", "", "the replaced record")
	krunctl(t, "show", b.dir(), "1").says(t, exitError,
		"", "no record of slot 1", "a replaced record is taken for that of the slot")
	const unfinished = "2 of 8 executions are outstanding (2 of fasta:C:default-c)"
	out := filepath.Join(t.TempDir(), "out")
	krunctl(t, "report", "-o", out, b.dir()).says(t, exitOK, "", "")
	page, err := os.ReadFile(filepath.Join(out, "index.html"))
	must.Be(t, err == nil && strings.Contains(string(page), unfinished), "the report", unfinished, err)
	r = krunctl(t, "analyze", b.dir())
	must.Contain(t, r.stdout, unfinished, "the analysis does not say", r.text())
}

// TestRerunOfSkipped: a slot that [stop] has skipped may be skipped again, and the message says so.
func TestRerunOfSkipped(t *testing.T) {
	const note = "the experiment's [stop] decides before they run, and may skip them again\n"
	b := newExperimentOf(t, strings.Replace(experimentText, "executions = 2", "executions = 3", 1)+
		"[stop]\nrules = [\"halfwidth\"]\n")
	b.run(results.Completed)
	slot, err := b.sched.Current()
	b.must(err)
	b.must(b.sched.Finish(slot, schedule.Skipped))
	r := krunctl(t, "run", "--again", "--later", "--slot", "1", b.dir())
	must.Be(t, r.code == exitOK && strings.HasSuffix(r.stdout, note), r.text())
	r = krunctl(t, "run", "--again", "--later", "--slot", "0", b.dir())
	must.Be(t, r.code == exitOK && !strings.Contains(r.stdout, note), "this slot was not skipped", r.text())
}

// TestRerunRefuses: nothing is changed while krund runs.
func TestRerunRefuses(t *testing.T) {
	b := withErrors(t)
	d, err := directory.Open(durable.OS(), b.dir())
	b.must(err)
	lock, err := d.Lock(os.Getpid(), "lab1")
	b.must(err)
	r := krunctl(t, "run", "--again", "--later", "--slot", "1", b.dir())
	b.must(lock.Release())
	r.says(t, exitError, "", "is running this experiment", "while krund runs")
	list, _ := filepath.Glob(filepath.Join(b.dir(), "results", "*.replaced"))
	must.Be(t, len(list) == 0, "records were replaced", list)
}

// TestNextOf: the directory of a quick run has no configuration of its own.
func TestNextOf(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string][]string{"a-quick.krun": {"run", "--quick", dir + "/a.toml"},
		"a.krun": {"run", dir + "/a.toml"}} {
		d := must.Get(directory.Create(durable.OS(), filepath.Join(dir, name)))(t)
		got := (&app{}).nextOf(experiment.Experiment{Directory: d})
		must.Be(t, slices.Equal(got, want), got, want)
	}
}
