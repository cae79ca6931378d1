//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
)

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
