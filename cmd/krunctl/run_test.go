package main

import (
	"os"
	"strings"
	"testing"

	"krund/internal/display"
	"krund/internal/execution/identity"
	"krund/internal/experiment/results"
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
