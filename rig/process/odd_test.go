package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// expectation is the expected content of a benchmark's record.
type expectation struct {
	benchmark string
	outcome   results.Outcome
	measured  int      // number of iterations
	reasons   []string // each is part of some reason
	strays    int      // minimum number; -1 means exactly none
	check     func(*testing.T, results.Record)
}

var expected = []expectation{
	{"heap", results.Error, 0, []string{"MemoryError"}, -1, nil},
	{"stack", results.Error, 0, []string{"SIGSEGV"}, -1, nil},
	{"daemons", results.Completed, 3, nil, 3, nil},
	{"breeder", results.Completed, 3, nil, 1, nil},
	{"flood", results.Completed, 3, nil, -1, floodBounded},
	{"leaves", results.Error, 1, []string{"before the runner said that it was done"}, -1, nil},
	{"raises", results.Error, 1, []string{"checksum 41, not 42", "1 of 3 iterations"}, -1, nil},
	{"dies", results.Error, 0, []string{"SIGBUS"}, -1, nil},
	{"child_measures", results.Error, 0, []string{"forked from", "0 of 3 iterations"}, -1, nil},
	{"child_goes_on", results.Error, 0, []string{"before the runner said that it was done"}, 1, nil},
	{"children", results.Completed, 3, nil, -1, nil},
	{"closes", results.Completed, 3, nil, -1, nil},
	{"scribbles", results.Error, -1, []string{"overwritten"}, -1, nil},
}

func oddBenchmarks(t *testing.T, e *rig.Experiment) {
	e.Check(t)
	for _, want := range expected {
		t.Run(want.benchmark, func(t *testing.T) { want.compare(t, of(t, e, want.benchmark, "CPython")) })
	}
	t.Run("never measures", func(t *testing.T) {
		expectation{"look", results.Error, 0, []string{"without using libkrun", "runner"}, -1, nil}.compare(t,
			of(t, e, "look", "Silent"))
	})
	t.Run("look", func(t *testing.T) { look(t, of(t, e, "look", "CPython")) })
	t.Run("look elsewhere", func(t *testing.T) { look(t, of(t, e, "look", "Other")) })
	t.Run("the environment has one size for a VM", func(t *testing.T) { oneEnvironment(t, e) })
}

func (want expectation) compare(t *testing.T, r results.Record) {
	must.Equal(t, r.Outcome, want.outcome, "outcome")
	must.Be(t, want.measured < 0 || len(r.WallNS) == want.measured, len(r.WallNS),
		"iterations measured, want", want.measured)
	for _, text := range want.reasons {
		if !slices.ContainsFunc(r.Reasons, func(reason string) bool {
			return strings.Contains(reason, text)
		}) {
			t.Errorf("no reason says %q", text)
		}
	}
	n := r.Process.Strays
	must.Be(t, (want.strays >= 0 || n <= 0) && n >= want.strays, n, "strays, want", max(want.strays, 0))
	must.Be(t, !r.Process.TimedOut && r.Process.OOMKills <= 0, "timed out", r.Process.TimedOut,
		r.Process.OOMKills, "OOM kills")
	if want.check != nil {
		want.check(t, r)
	}
	if t.Failed() {
		t.Log(describe(r))
	}
}

// floodBounded: everything is counted, little is kept.
func floodBounded(t *testing.T, r results.Record) {
	for name, out := range map[string]results.Output{"stdout": r.Process.Stdout, "stderr": r.Process.Stderr} {
		if out.Bytes != 3*8<<20 || !out.Truncated || len(out.Text) < 32<<10 || len(out.Text) > 256<<10 {
			t.Errorf("%s: %d bytes, truncated %v, %d kept", name, out.Bytes, out.Truncated, len(out.Text))
		}
	}
}

// view is the output of the benchmark look.
type view struct {
	Data, Stack, Core                       [2]int64
	Environ                                 []string
	EnvironBytes                            int `json:"environ_bytes"`
	UID, GID                                [2]int
	Groups                                  []int
	CWD                                     string
	Umask                                   int
	Descriptors                             []int
	Nice, Policy                            int
	Affinity                                []int
	NoNewPrivileges                         string `json:"no_new_privileges"`
	Capabilities, Ambient, Ignored, Blocked string
	OOM, Cgroup, Stdin                      string
	Session                                 bool
	Leave, Thaw, Config, Shadow, Records    string
}

func look(t *testing.T, r results.Record) {
	must.Need(t, r.Outcome == results.Completed, describe(r))
	var v view
	said(t, r, &v)
	const heap, stack = 128 << 20, 1 << 20
	p := r.Process
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"heap", v.Data, [2]int64{heap, heap}}, {"stack", v.Stack, [2]int64{stack, stack}},
		{"core files", v.Core, [2]int64{0, 0}},
		{"user", v.UID, [2]int{p.UID, p.UID}}, {"group", v.GID, [2]int{p.GID, p.GID}},
		{"groups", len(v.Groups), 0},
		{"environment", v.Environ, p.Env}, {"its size", v.EnvironBytes, p.EnvBytes},
		{"directory", v.CWD, p.Dir}, {"umask", v.Umask, 0o22}, {"stdin", v.Stdin, "/dev/null"},
		{"niceness", v.Nice, -20}, {"recorded niceness", p.Nice, -20}, {"policy", v.Policy, 0},
		{"recorded policy", p.Policy, "SCHED_OTHER"},
		{"processors", v.Affinity, p.Affinity}, {"no new privileges", v.NoNewPrivileges, "1"},
		{"capabilities", v.Capabilities, strings.Repeat("0", 16)},
		{"ambient capabilities", v.Ambient, strings.Repeat("0", 16)}, {"blocked signals", v.Blocked,
			strings.Repeat("0", 16)},
		{"leader of a session", v.Session, true},
		{"leaving the control group", v.Leave, "Permission denied"}, {"joining its own", v.Thaw,
			"Permission denied"},
		{"opening shadow", v.Shadow, "Permission denied"}, {"writing the schedule", v.Records,
			"Permission denied"},
	} {
		must.Equal(t, fmt.Sprint(c.got), fmt.Sprint(c.want), c.what, c.got, c.want)
	}
	must.EqualList(t, p.Affinity, []int{1}, "may run on", "want the tickless")
	must.Be(t, p.Cgroup != "" && strings.HasSuffix(v.Cgroup, p.Cgroup), "control group", v.Cgroup, "recorded",
		p.Cgroup, p.CgroupReason)
	if !slices.Equal(v.Descriptors, []int{0, 1, 2}) { // krund's buffer is closed by then
		t.Errorf("descriptors %v", v.Descriptors)
	}
	must.Equal(t, v.OOM, "1000", "OOM score", "when memory runs out, another process is killed first")
}

// oneEnvironment: the size of the environment moves the stack, so it must not differ between
// executions of a key, nor between keys of one VM.
func oneEnvironment(t *testing.T, e *rig.Experiment) {
	first := map[string]results.Record{}
	for _, r := range e.Records {
		f, seen := first[r.Key.VM]
		if !seen {
			first[r.Key.VM] = r
			continue
		}
		must.Be(t, r.Process.EnvBytes == f.Process.EnvBytes && slices.Equal(r.Process.Env, f.Process.Env),
			r.Key, r.Process.EnvBytes, "bytes", r.Process.Env, f.Key, f.Process.EnvBytes, f.Process.Env)
	}
}

// noLitter: each execution reports a machine without traces of earlier ones.
func noLitter(t *testing.T, e *rig.Experiment) {
	if n := e.Count(schedule.Completed); n != littering.executions || len(e.Records) != n {
		t.Fatalf("%d completed of %d records, want %d", n, len(e.Records), littering.executions)
	}
	for _, r := range e.Records {
		var found struct {
			Home, Files, Objects, Processes []string
			Mode                            string
		}
		said(t, r, &found)
		for kind, list := range map[string][]string{"home": found.Home, "files": found.Files,
			"objects": found.Objects, "processes": found.Processes} {
			must.Be(t, len(list) <= 0, "execution", r.Pexec, kind, "found", list)
		}
		must.Be(t, found.Mode == "0o700" && r.Process.FreshHome && r.Process.UID != 0 &&
			r.Process.UID == e.Records[0].Process.UID, "execution", r.Pexec, "home has mode", found.Mode,
			"fresh", r.Process.FreshHome, "user", r.Process.UID)
		must.Equal(t, r.Process.Strays, 1, "execution", r.Pexec, "strays, want 1")
		if removed := strings.Join(r.Process.Findings, "\n"); r.Pexec > 1 &&
			(!strings.Contains(removed, "left in /dev/shm") || !strings.Contains(removed,
				"removed 3 System V objects")) {
			t.Errorf("execution %d: the findings do not say what was removed: %q", r.Pexec, removed)
		}
	}
}
