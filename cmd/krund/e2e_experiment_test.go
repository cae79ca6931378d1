//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	reading "krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestExperimentFaults: what is wrong around the benchmarks, before and while the experiment runs.
func TestExperimentFaults(t *testing.T) {
	t.Run("all mistakes in the configuration are reported at once", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.add("missing", "C")
		e.add("with:colon", "C")
		text := strings.Replace(e.config(), "with:colon =", "\"with:colon\" =", 1)
		text = strings.Replace(text, "executions = 1", "executions = \"many\"\ncolour = 3", 1)
		e.write("test.toml", text)
		must.Do(t, os.Mkdir(filepath.Join(e.dir, "benchmarks"), 0o755))
		out := e.run()
		out.want(t, exitUsage, "test.toml:3", "test.toml:4", "colour", "with:colon", "bench.so")
		must.Equal(t, out.stdout, "", "stdout")
		must.Refused(os.Lstat(e.directory))(t, "", "the directory was created")
	})
	t.Run("benchmark and VM vanish after the start", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("first", `void run_iter(int p) {
			char path[PATH_MAX];
			snprintf(path, sizeof path, "%s/benchmarks/gone/bench.so", getenv("E2E")); unlink(path);
			snprintf(path, sizeof path, "%s/suite", getenv("E2E")); unlink(path);
		}`)
		e.c("gone", good)
		e.c("last", good)
		e.external = e.write("suite", "#!/bin/sh\n")
		e.add("suite", "External")
		e.run().want(t, exitFailed)
		must.Equal(t, e.flags(), "CECE", "slots", "want CECE")
		e.outcome("gone", results.Error, 0, "cannot be loaded", "gone/bench.so")
		e.outcome("suite", results.Error, 0, "could not be started", filepath.Join(e.dir, "suite"))
		e.outcome("last", results.Completed, 5)
	})
	t.Run("krund is not installed completely", func(t *testing.T) {
		t.Parallel()
		e := goodExperiment(t)
		path := e.write("test.toml", e.config())
		// A link, because a program that was just written is busy while another test starts a
		// process.
		e.must(errors.Join(os.MkdirAll(filepath.Join(e.dir, "prefix", "bin"), 0o755),
			os.Link(filepath.Join(scratch, "prefix", "bin", "krund"),
				filepath.Join(e.dir, "prefix", "bin", "krund"))))
		startKrund(t, filepath.Join(e.dir, "prefix"), "run", path).wait().want(t, exitError,
			"not installed completely", "libexec/krund/runner-c", "make install")
		must.Refused(os.Lstat(e.directory))(t, "", "the directory was created")
	})
}

// TestLinksAreNotFollowed: root must not be made to write elsewhere, not even the log.
func TestLinksAreNotFollowed(t *testing.T) {
	must.Root(t, "others than root can only write what is theirs")
	for _, name := range []string{"log", "lock", "journal", "schedule", "config.toml", "results"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := goodExperiment(t)
			e.must(os.Mkdir(e.directory, 0o755))
			outside, link := filepath.Join(e.dir, "outside"), filepath.Join(e.directory, name)
			e.must(os.Symlink(outside, link))
			if out := e.run(); out.code != exitError || !strings.Contains(out.stderr, link) {
				t.Errorf("link to nothing: exit status %d, %s", out.code, out.stderr)
			}
			must.Refused(os.Lstat(outside))(t, "", "made a file outside")
			e.write("outside", "precious")
			e.run().want(t, exitError, link)
			text := must.Get(os.ReadFile(outside))(e.t)
			must.Equal(t, string(text), "precious", "the file outside was changed")
		})
	}
}

// TestCheck: it reports whether krund could run the experiment here, and changes nothing.
func TestCheck(t *testing.T) {
	prefix := filepath.Join(scratch, "prefix")
	t.Run("fit", func(t *testing.T) {
		t.Parallel()
		e := goodExperiment(t)
		path := e.write("test.toml", e.config())
		startKrund(t, prefix, "check", path).wait().want(t, exitOK, "test: 1 process execution of 1 key, "+
			"without reboots", "processes 4096", "fit to measure")
		out := startKrund(t, prefix, "check", "--json", path).wait()
		out.want(t, exitOK)
		var table checkJSON
		if err := json.Unmarshal([]byte(out.stdout), &table); err != nil || len(table.Findings) < 20 ||
			table.Findings[0].Policy != "off" ||
			table.Format != 1 || table.Experiment != "test" || table.Config != path || table.Keys != 1 ||
			table.Slots != 1 || !table.Fit {
			t.Errorf("%v: %.200s", err, out.stdout)
		}
		must.Refused(os.Lstat(e.directory))(t, "", "the directory was created")
	})
	t.Run("of a run without reboots", func(t *testing.T) {
		t.Parallel()
		e := goodExperiment(t)
		// as most files are: with reboots, and what they require by default
		text := strings.Replace(e.config(), `reboot = "none"`, `reboot = "hardware"`, 1)
		before, _, _ := strings.Cut(text, "[controls]")
		path := e.write("test.toml", before)
		for _, test := range []struct {
			flags        []string
			name, reboot string
			fit          bool // on every machine; otherwise only on some
		}{
			{nil, "test", "hardware", false},
			{[]string{"--reboot", "kexec"}, "test", "kexec", false},
			{[]string{"--reboot", "none"}, "test", "none", true},
			{[]string{"--quick"}, "test-quick", "none", true},
		} {
			out := startKrund(t, prefix, append([]string{"check", "--json", path}, test.flags...)...).wait()
			var table checkJSON
			must.Do(t, json.Unmarshal([]byte(out.stdout), &table), test.flags, out.stderr)
			instead := ""
			if !table.Fit {
				instead = filepath.Join(prefix, "bin/krund") + " run --reboot none " + path
			}
			must.Be(t, table.Experiment == test.name && table.Reboot == test.reboot && (!test.fit ||
				table.Fit) && table.Instead == instead, test.flags, table.Experiment, "reboot", table.Reboot,
				"fit", table.Fit, "instead", table.Instead, "want", instead)
		}
		startKrund(t, prefix, "check", "--quick", "--reboot", "soft", path).wait().want(t, exitUsage,
			"--quick runs without reboots")
		must.Refused(os.Lstat(e.directory))(t, "", "the directory was created")
	})
	t.Run("unfit", func(t *testing.T) {
		t.Parallel()
		e := goodExperiment(t)
		text := strings.Replace(e.config(), "temperature = \"off\"", `temperature = "require"`, 1)
		text = strings.Replace(text, "base_wait", "sensors = [\"no-such-sensor\"]\nbase_wait", 1)
		path := e.write("test.toml", text)
		startKrund(t, prefix, "check", path).wait().want(t, exitError, "NOT fit to measure: temperature\n",
			`measure here without control: set temperature = "warn" in [controls], then `)
	})
	t.Run("missing benchmark", func(t *testing.T) {
		t.Parallel()
		e := goodExperiment(t)
		path := e.write("test.toml", e.config())
		e.must(os.Remove(e.entry("good")))
		startKrund(t, prefix, "check", path).wait().want(t, exitUsage, "test.toml:", "good/bench.so",
			"build the benchmark")
	})
}

// TestArms runs two blocks of four arms: a setting, a copy of the benchmarks, which is announced,
// and a null arm, which is not. Everything that identifies an arm is in its records.
func TestArms(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.executions = 2
	e.c("good", `void run_iter(int n) {
	if (getenv("SAY")) fprintf(stderr, "%s", getenv("SAY"));
}`)
	e.extra = `[arms.base]
[arms.setting]
env.SAY = "x"
[arms.copy]
benchmarks = "copy"
[arms.null]
null = true
`
	e.write("test.toml", e.config())
	e.must(os.CopyFS(filepath.Join(e.dir, "copy"), os.DirFS(filepath.Join(e.dir, "benchmarks"))))
	e.run().want(t, exitOK, "the arms base and copy have the same files and settings for every key")
	must.Equal(t, e.flags(), strings.Repeat(string(byte(schedule.Completed)), 8))
	seen := map[string]int{}
	hashes := map[string]bool{}
	for _, r := range e.records() {
		seen[r.Key.Arm]++
		must.Be(t, r.Outcome == results.Completed && r.Key.String() == "good:C:so@"+r.Key.Arm, r.Key,
			r.Outcome, r.Reasons)
		entry := r.Process.Argv[len(r.Process.Argv)-2]
		want := r.Key.Arm == "copy"
		must.Equal(t, strings.HasPrefix(entry, filepath.Join(e.dir, "copy")), want, r.Key, "runs", entry)
		want = r.Key.Arm == "setting"
		must.Be(t, slices.Contains(r.Process.Env, "SAY=x") == want &&
			(r.Process.Stderr.Text == "xxxxx") == want, r.Key, r.Process.Env, r.Process.Stderr.Text)
		for name, hash := range r.Machine.Fingerprint {
			if strings.HasPrefix(name, "program.benchmark.good.so@") {
				hashes[hash] = true
			}
		}
	}
	must.Be(t, len(seen) == 4 && seen["base"] == 2 && seen["null"] == 2 && len(hashes) == 1, "records", seen,
		"hashes", hashes)
}

// TestGrow: an experiment that has ended goes on with a larger configuration, of which --dry-run
// says beforehand what it adds; a smaller one is refused.
func TestGrow(t *testing.T) {
	t.Parallel()
	e := goodExperiment(t)
	e.executions = 2
	e.run().want(t, exitOK)
	small := e.config()
	e.executions = 3
	e.c("more", good)
	e.write("test.toml", "# larger\n"+e.config())
	const grows = "the experiment grows by 4 slots, from 2 to 6: "
	e.run("--dry-run").want(t, exitOK, "would run 4 of 6 process executions", grows,
		"good:C:so, 1 execution of ", "more:C:so, 3 executions of ")
	must.Equal(t, e.flags(), "CC", "slots after --dry-run")
	e.run().want(t, exitOK, grows, "executions was 2 and is 3", "benchmarks.more is new", "is edition 2")
	must.Equal(t, e.flags(), "CCCCCC", "slots")
	e.run().want(t, exitOK, "nothing is outstanding")
	finished := e.run("--dry-run")
	finished.want(t, exitOK, "would run 0 of 6 process executions")
	must.Be(t, !strings.Contains(finished.stdout, "  run  "), "what has ended would run", finished.stdout)
	stored := must.Get(os.ReadFile(filepath.Join(e.directory, "config.toml")))(t)
	must.Be(t, strings.HasPrefix(string(stored), "# larger\n"), "config.toml is", string(stored))
	e.write("test.toml", small)
	e.run().want(t, exitError, "executions was 3 and is 2", "benchmarks.more was", "is gone", "can only grow")
}

// TestChangedBenchmark: an experiment whose benchmark is edited in the middle measures nothing with
// it, names the file and both hashes, and goes on when it is restored, or with a new edition.
func TestChangedBenchmark(t *testing.T) {
	t.Parallel()
	const edits = `
def run_iter(n):
    with open(__file__, "a") as f: # the first execution does what a person does in an editor
        if f.tell() < 1000:
            f.write("#" * 1000 + "\n")
`
	e := newExperiment(t)
	e.executions = 3
	e.py("edited", edits)
	file := e.entry("edited")
	const was = "was SHA-256 " // of edits: see the record
	e.run().want(t, exitError, file+" has changed", was, "is  SHA-256 ", "krund run --accept-changed ")
	must.Equal(t, e.flags(), "COO", "slots", "want COO")
	first := e.of("edited")
	hash := first.Machine.Fingerprint["program.benchmark.edited.py"]
	out := e.run()
	out.want(t, exitError, was+hash)
	e.write(filepath.Join("benchmarks", "edited", "bench.py"), edits) // restored
	e.run("--accept-changed").want(t, exitError, file+" has changed") // by the second execution
	e.run("--accept-changed").want(t, exitOK, "are accepted", "edition 2")
	var editions []int
	hashes := map[string]bool{}
	for _, r := range e.records() {
		editions = append(editions, r.Edition)
		hashes[r.Machine.Fingerprint["program.benchmark.edited.py"]] = true
		must.Equal(t,
			strings.Contains(strings.Join(r.Reasons, "\n"), file+" changed while this execution ran"),
			(r.Pexec < 3), "execution", r.Pexec, r.Reasons)
	}
	must.Be(t, len(editions) == 3 && editions[0] == 1 && editions[1] == 1 && editions[2] == 2 &&
		len(hashes) == 2, "editions", editions, len(hashes), "programs")
	must.Get(os.Stat(filepath.Join(e.directory, "editions.json")))(t)
	said := ""
	reader := reading.Reader{FS: durable.OS(), Message: func(format string, args ...any) {
		said += fmt.Sprintf(format, args...)
	}}
	d, _ := must.Get2(reader.Series(e.directory, reading.Selection{}))(t)
	for i, x := range d.Pairs[0].Executions {
		must.Equal(t, (x.Outcome == results.Completed), (i == 2), "execution", x.Number, "of", d.Pairs[0].Key,
			x.Outcome)
	}
	must.Contain(t, said, file+" changed after execution 2 of ", "the analysis")
}
