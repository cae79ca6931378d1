// Package rehearsal runs one iteration of each key of an experiment, with its limits, account and
// libraries, linked anew by experiment.relink, and says what would go wrong: `krund check --try`.
// It applies no controls, runs no hooks, stores nothing, and is bounded in time. Start reading at
// Run.
package rehearsal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Longest bounds the trial of one key. A benchmark whose iteration takes longer is not a mistake.
const Longest = time.Minute

// Result is the trial of one key.
type Result struct {
	Key      string   `json:"key"`
	OK       bool     `json:"ok"`       // nothing speaks against a run
	WallNS   int64    `json:"wall_ns"`  // of the whole process
	Reasons  []string `json:"reasons"`  // why it would fail
	Warnings []string `json:"warnings"` // what deserves a look
	Fix      string   `json:"fix"`      // what to do; "" if unknown
}

// Executor performs jobs; execution.Executor is one.
type Executor interface {
	Relink(ctx context.Context, j *execution.Job) error
	Execute(ctx context.Context, j execution.Job) (execution.Measured, error)
}

// Setting is what the trials run with.
type Setting struct {
	Executor Executor
	Account  account.Account // zero: the caller's
	Cgroup   string          // of its own: not that of an experiment
	Root     bool            // krund is root
	// Directory is that of the experiment, which is left alone; Scratch that in which
	// experiment.relink writes if the account has no home of its own.
	Directory, Scratch string
}

// Run tries each key of cfg. It ends early, with the error of ctx, when that ends; each is called
// with the result of a key when that is known.
func Run(ctx context.Context, cfg *config.Config, s Setting, each func(Result)) error {
	for _, k := range cfg.Keys() {
		r, err := try(ctx, cfg, k, s)
		if err != nil {
			return fmt.Errorf("try %s: %w", k, err)
		}
		each(r)
	}
	return nil
}

func try(ctx context.Context, cfg *config.Config, k key.Key, s Setting) (Result, error) {
	job, err := execution.NewJob(cfg, k)
	if err != nil {
		return Result{}, err
	}
	job.Stop = config.StopIterations{} // nothing to stop in one iteration
	job.Iterations, job.Account, job.Cgroup, job.Root = 1, s.Account, s.Cgroup, s.Root
	job.Counters.Sources = []string{config.SourceNone} // `krund check` examines the counters
	limited := job.Limits.Timeout > 0 && job.Limits.Timeout <= Longest
	if !limited {
		job.Limits.Timeout = Longest
	}
	const slot, number, attempt = 0, 1, 1
	job.Relink.Variables = execution.Variables(cfg, s.Directory, k, slot, number, attempt)
	job.Relink.Scratch, job.Layout.Mode = s.Scratch, cfg.Experiment.Layout
	if job.Layout.Mode == config.LayoutRandom {
		job.Layout.LinkSeed = schedule.LinkSeed(cfg.Experiment.Seed, number)
	}
	if err := s.Executor.Relink(ctx, &job); err != nil {
		return Result{}, err
	}
	m, err := s.Executor.Execute(ctx, job)
	if err == nil && m.Interrupted {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	return judge(k, job, m, limited), nil
}

// judge makes the result. limited: the time limit was that of the configuration.
func judge(k key.Key, job execution.Job, m execution.Measured, limited bool) Result {
	r := Result{Key: k.String(), WallNS: m.Process.WallNS, Reasons: []string{}, Warnings: []string{}}
	o := verdict.Judge(m.Execution, verdict.Limits{Disturbed: verdict.Accept})
	switch {
	case o.Outcome == results.Completed:
		r.OK = true
		r.Warnings = append(r.Warnings, o.Reasons...)
		r.Warnings = append(r.Warnings, prints(job, m)...)
	case o.Outcome == results.Timeout && !limited:
		r.OK = true
		r.Warnings = append(r.Warnings, fmt.Sprintf("one iteration was not done after %s, where the trial "+
			"ends; the configuration allows more", Longest))
	default:
		r.Reasons = o.Reasons
		r.Fix = advice(job, m)
	}
	return r
}

// prints reports what a benchmark writes, because what run_iter writes is part of its time. A suite
// prints its results.
func prints(job execution.Job, m execution.Measured) []string {
	var list []string
	for _, stream := range []struct {
		name string
		out  results.Output
	}{{"stdout", m.Process.Stdout}, {"stderr", m.Process.Stderr}} {
		if stream.out.Bytes == 0 || job.External() && stream.name == "stdout" {
			continue
		}
		const most = 60
		first, _, _ := strings.Cut(strings.TrimSpace(stream.out.Text), "\n")
		list = append(list, fmt.Sprintf("it writes to %s (%s, %q); the time that run_iter needs for that is "+
			"measured: write nothing between iterations", stream.name, display.Count(int(stream.out.Bytes),
			"byte"), display.Head(first, most)))
	}
	return list
}

// A hint is what to do when the output of a failed benchmark contains a text.
type hint struct {
	runner string // "" for all
	said   string // by the process or in the reason why it was not started, in lower case
	fix    string
}

// hints, the first one that applies counts. The texts are those of the VMs: CPython 2.7 and 3,
// LuaJIT 2.1, Node 12 to 22, HotSpot 8 to 21, PHP 7 and 8, glibc's loader.
var hints = []hint{
	{"python", "missing parentheses in call to 'print'", "it is written for Python 2: name a Python 2 or " +
		"PyPy 2 as path of the VM, or translate it (2to3)"},
	{"python", "name 'xrange' is not defined", "it is written for Python 2: name a Python 2 or PyPy 2 as " +
		"path of the VM, or translate it (2to3)"},
	{"php", "<?", "PHP printed the file instead of running it: it begins with the short tag <?; write " +
		"args = [\"-d\", \"short_open_tag=1\"] in the VM's section"},
	{"lua", "bit32", "LuaJIT has the library bit and not Lua 5.2's bit32: use bit, or run it with " +
		"another VM"},
	{"lua", "'unpack' (a nil value)", "LuaJIT has Lua 5.1's unpack; table.unpack needs a LuaJIT that was " +
		"built with XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT"},
	{"lua", "'pack' (a nil value)", "table.pack of Lua 5.2 needs a LuaJIT that was built with " +
		"XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT"},
	{"lua", "'len' (a nil value)", "this function of Lua 5.2 needs a LuaJIT that was built with " +
		"XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT"},
	{"lua", "unexpected symbol near '/'", "LuaJIT has no integer division // (Lua 5.3): use " +
		"math.floor(a / b)"},
	{"javascript", "read is not defined", "read is a function of d8; use require(\"fs\").readFileSync"},
	{"java", "unsupportedclassversionerror", "the class was compiled for a newer Java: compile it with " +
		"javac --release N, where N is the version of this VM"},
	{"java", "noclassdeffounderror", "a class that it needs is missing: compile all of the benchmark's " +
		"classes into the directory of the entry; the class path has that and krund's own"},
	{"java", "classnotfoundexception", "write entry = \"KrunEntry.class\", and compile the benchmark into " +
		"the directory of the entry"},
	{"c", "undefined symbol", "link the library that defines the symbol into bench.so, such as with -lm " +
		"after the object files"},
	{"c", "wrong elf class", "it was compiled for another processor: compile it on this machine"},
	{"c", "invalid elf header", "it is not a shared library: compile it with -shared -fPIC"},
	{"c", "only et_dyn and et_exec", "it is an object file: link it with -shared"},
	{"c", "cannot dynamically load", "it is a program, not a shared library: link it with -shared -fPIC " +
		"instead of -pie"},
}

// advice returns what to do about a failed trial, "" if unknown.
func advice(job execution.Job, m execution.Measured) string {
	const most = 64 << 10
	said := m.Process.Stderr.Text[:min(most, len(m.Process.Stderr.Text))] + "\n" +
		m.Process.Stdout.Text[:min(most, len(m.Process.Stdout.Text))]
	if f := m.Process.NotStarted; f != nil {
		said += "\n" + f.Text
	}
	said = strings.ToLower(said)
	for _, h := range hints {
		if (h.runner == "" || h.runner == job.VM.Runner) && strings.Contains(said, h.said) {
			return h.fix
		}
	}
	if strings.Contains(said, "permission denied") {
		return fmt.Sprintf("the account %s must be able to reach and read it: not below /root, and each "+
			"directory on the way with mode o+x; or set experiment.account = \"caller\"", accountName(job))
	}
	return ""
}

func accountName(job execution.Job) string {
	if job.Account.IsCaller() {
		return "that runs krund"
	}
	return job.Account.Name
}
