package execution

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	libkrun "krund/cgo"
	"krund/internal/durable/trust"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
	"krund/runners/suites"
)

var installed = Installed{
	Runners: "/opt/libexec/krund", Library: "/opt/lib/krund/libkrun.so",
	Cgroup: "krund-1", CallerName: "ann", CallerHome: "/home/ann",
}

const configText = `[experiment]
iterations = 7
benchmarks = "/b"
[limits]
heap = "1GiB"
stack = "8MiB"
timeout = "90s"
output = "64KiB"
[counters]
sources = ["none"]
[vms.C]
runner = "c"
variants = ["so"]
[vms.Tuned]
runner = "c"
path = "/usr/bin/env"
args = ["-u", "NOTHING"]
iterations = 9
variants = ["so"]
[vms.Py]
runner = "python"
path = "/usr/bin/env"
args = ["-O"]
env = { PYTHONHASHSEED = "0", LANG = "C" }
variants = ["py"]
[vms.Suite]
runner = "external"
path = "/usr/bin/env"
args = ["-jar", "suite.jar"]
variants = ["none", "jar"]
[vms.Gone]
runner = "python"
path = "/nowhere/python"
variants = ["py"]
[variants.so]
entry = "bench.so"
subfolder = "c"
[variants.py]
entry = "bench.py"
[variants.none]
entry = ""
[variants.jar]
entry = "bench.jar"
[benchmarks]
nbody = { parameter = -5 }
`

func job(t *testing.T, name string) Job {
	t.Helper()
	cfg := must.Get(config.Parse("/x/test.toml", []byte(configText), "here", nil))(t)
	k := must.Get(key.Parse(name))(t)
	return must.Get(NewJob(cfg, k))(t)
}

func TestCommandLines(t *testing.T) {
	for _, test := range []struct{ key, argv, dir string }{
		{"nbody:C:so", "/opt/libexec/krund/runner-c /b/nbody/c/bench.so -5", "/b/nbody/c"},
		{"nbody:Tuned:so", "/usr/bin/env -u NOTHING /b/nbody/c/bench.so -5", "/b/nbody/c"},
		{"nbody:Py:py", "/usr/bin/env -O /opt/libexec/krund/runner.py /b/nbody/bench.py -5", "/b/nbody"},
		{"nbody:Suite:none", "/usr/bin/env -jar suite.jar nbody 7 -5 0", "/"},
		{"nbody:Suite:jar", "/usr/bin/env -jar suite.jar /b/nbody/bench.jar nbody 7 -5 0", "/b/nbody"},
		{"nbody:Gone:py", "/nowhere/python /opt/libexec/krund/runner.py /b/nbody/bench.py -5", "/b/nbody"},
	} {
		t.Run(test.key, func(t *testing.T) {
			c := job(t, test.key).command(installed)
			must.Equal(t, strings.Join(c.Args, " "), test.argv, "argv")
			must.Be(t, c.Path == c.Args[0] && c.Dir == test.dir && c.Cgroup == "krund-1", "path", c.Path,
				"directory", c.Dir, "control group", c.Cgroup)
		})
	}
}

// TestSuiteCommandLines: the hook takes the place of the benchmark's file, a jar is in the class
// path, and an external suite gets its own name of the benchmark.
func TestSuiteCommandLines(t *testing.T) {
	suite := func(kind string, options ...string) *config.Suite {
		return &config.Suite{Kind: kind, Path: "/s", Benchmarks: []suites.Benchmark{{Name: "x",
			Options: options}}}
	}
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{VM: config.VM{Runner: "external"}, Program: "/bin/sh", Suite: suite("go-test", "BenchmarkX"),
			Entry: "/s/x.test"}, "/bin/sh /r/suites/gobench /s/x.test BenchmarkX 3 1 0"},
		{Job{VM: config.VM{Runner: "java"}, Program: "/java", Suite: suite("jmh"), Entry: "/s/x.jar"},
			"/java -cp /r/java:/r/suites:/s/x.jar KrunRunner KrunJmh 1"},
		{Job{VM: config.VM{Runner: "c"}, Suite: suite("sightglass"), Entry: "/s/x.wasm"},
			"/r/runner-c /r/suites/sightglass.so 1"},
		{Job{VM: config.VM{Runner: "c"}, Suite: suite("are-we-fast-yet"), Entry: "/s/krun.so"},
			"/r/runner-c /s/krun.so 1"},
	} {
		c.job.Benchmark, c.job.Iterations, c.job.Parameter = "x", 3, 1
		must.Equal(t, strings.Join(c.job.argv(Installed{Runners: "/r"}), " "), c.want)
	}
}

// seedOfNbody is half of the first 32 bits of printf '1 nbody 0' | sha256sum.
const seedOfNbody = "KRUN_SEED=1272772426"

// TestInputSeed: the inputs are those of a block: the same for all arms and VMs, others in the
// next.
func TestInputSeed(t *testing.T) {
	j, other := job(t, "nbody:C:so"), job(t, "nbody:Py:py")
	must.Equal(t, j.inputSeed(), other.inputSeed())
	other.Number = 1
	must.Be(t, j.inputSeed() != other.inputSeed(), "the seed of another block")
	other = j
	other.Seed++
	must.Be(t, j.inputSeed() != other.inputSeed(), "that of another experiment")
}

func TestEnvironments(t *testing.T) {
	caller := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/ann", "USER=ann", "LOGNAME=ann",
		"SHELL=/bin/sh", "LANG=C.UTF-8"}
	fresh := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/krun", "USER=krun", "LOGNAME=krun",
		"SHELL=/bin/sh", "LANG=C.UTF-8"}
	buffer := []string{"KRUN_BUFFER_FD=3", "KRUN_LIBRARY=/opt/lib/krund/libkrun.so", seedOfNbody}
	for _, test := range []struct {
		name   string
		key    string
		change func(*Job)
		want   []string
	}{
		{"caller", "nbody:C:so", nil, slices.Concat(caller, buffer)},
		{
			"fresh account", "nbody:C:so",
			func(j *Job) {
				j.Account = account.Account{Name: "krun", UID: 900, GID: 900,
					Home: "/home/krun"}
			},
			slices.Concat(fresh, buffer),
		},
		{"external suites know nothing of libkrun", "nbody:Suite:none", nil, caller},
		{
			"of the controls", "nbody:C:so",
			func(j *Job) { j.ExtraEnv = []string{"MALLOC_OPTIONS=sfghjpru"} },
			slices.Concat(caller, buffer, []string{"MALLOC_OPTIONS=sfghjpru"}),
		},
		{
			"instrumented", "nbody:C:so", func(j *Job) { j.VM.Instrument = config.InstrumentEvents },
			slices.Concat(caller, buffer, []string{"KRUN_INSTRUMENT=events"}),
		},
		{ // programs differ in how they treat a name that occurs twice
			"a VM's replaces the usual", "nbody:Py:py", nil, slices.Concat(caller[:5], []string{"LANG=C"},
				buffer, []string{"PYTHONHASHSEED=0"}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := job(t, test.key)
			if test.change != nil {
				test.change(&j)
			}
			must.EqualList(t, j.command(installed).Env, test.want, "environment")
		})
	}
}

// TestCallersEnvironment: with environment = "caller" a benchmark gets what krund was started with,
// at an unchanged priority, and a record does not tell the values.
func TestCallersEnvironment(t *testing.T) {
	in := installed
	in.CallerEnv = []string{"PATH=/opt/venv/bin:/bin", "LANG=de_DE.UTF-8", "TOKEN=secret", "odd",
		"KRUN_LIBRARY=/elsewhere"}
	j := job(t, "nbody:Py:py") // it has a LANG of its own
	j.Inherit, j.Root = true, true
	c := j.command(in)
	want := []string{"PATH=/opt/venv/bin:/bin", "LANG=C", "TOKEN=secret", "odd",
		"KRUN_LIBRARY=/opt/lib/krund/libkrun.so", "KRUN_BUFFER_FD=3", seedOfNbody,
		"PYTHONHASHSEED=0"}
	must.Be(t, slices.Equal(c.Env, want) && c.Inherit && c.Nice == 0, "environment", c.Env, want, c)
	m := fromRun(j, child.Run{}, in)
	shown := []string{"PATH", "LANG=C", "TOKEN", "odd", "KRUN_LIBRARY=/opt/lib/krund/libkrun.so",
		"KRUN_BUFFER_FD=3", seedOfNbody, "PYTHONHASHSEED=0"}
	// printf 'PATH=/opt/venv/bin:/bin\0TOKEN=secret\0odd\0' | sha256sum
	const hash = "7eeb2e58e177960c6ec3fe04787894623ef6b32002809f2db51edd9eb4dca961"
	if p := m.Process; !slices.Equal(p.Env, shown) || p.EnvInherited != hash {
		t.Errorf("recorded %q, %s, want %q, %s", p.Env, p.EnvInherited, shown, hash)
	}
	j.Inherit = false
	if c = j.command(in); c.Inherit || c.Nice != -20 || slices.Contains(c.Env, "TOKEN=secret") ||
		fromRun(j, child.Run{}, in).Process.EnvInherited != "" {
		t.Errorf("clean: %+v", c)
	}
}

// TestInstrumentedBuffer: only an instrumented process gets room for more columns and for events.
func TestInstrumentedBuffer(t *testing.T) {
	for level, want := range map[string]libkrun.Spec{
		"":                       {Iterations: 7, UserColumns: 8},
		config.InstrumentColumns: {Iterations: 7, UserColumns: 24},
		config.InstrumentEvents:  {Iterations: 7, UserColumns: 24, Events: 65536},
	} {
		j := job(t, "nbody:C:so")
		j.VM.Instrument = level
		got := j.spec()
		must.Be(t, reflect.DeepEqual(got, want), level, got, "want", want)
	}
}

// TestEventsAreConverted: by time, with their kind's name, and without an argument where none was
// given.
func TestEventsAreConverted(t *testing.T) {
	got := events([]libkrun.Event{
		{Kind: libkrun.EventMark, TimeNS: 30, Argument: libkrun.Missing, Name: "x"},
		{Kind: libkrun.EventGC, TimeNS: 10, DurationNS: 5, Argument: -1},
	})
	minusOne := int64(-1)
	want := []results.Event{{Kind: "gc", TimeNS: 10, DurationNS: 5, Argument: &minusOne},
		{Kind: "mark", TimeNS: 30, Name: "x"}}
	must.Be(t, reflect.DeepEqual(got, want) && events(nil) == nil, got, want)
}

func TestLimitsAndPriority(t *testing.T) {
	const kept = 64 << 10
	want := child.Limits{Heap: 1 << 30, Stack: 8 << 20, Output: kept, Timeout: 90 * time.Second,
		Processes: 4096}
	c := job(t, "nbody:C:so").command(installed)
	must.Be(t, c.Limits == want && c.Nice == 0 && c.CPUs == nil && c.User.IsCaller(), "limits", c.Limits,
		"nice", c.Nice, "processors", c.CPUs, "account", c.User)
	j := job(t, "nbody:Suite:none")
	j.Root, j.CPUs = true, []int{2, 3}
	if c = j.command(installed); c.Limits != want || c.Nice != -20 || !slices.Equal(c.CPUs, []int{2, 3}) {
		t.Errorf("external as root: limits %+v, nice %d, processors %v", c.Limits, c.Nice, c.CPUs)
	}
}

func TestUnknownKey(t *testing.T) {
	cfg := must.Get(config.Parse("/x/test.toml", []byte(configText), "here", nil))(t)
	must.Refused(NewJob(cfg, key.Key{Benchmark: "nbody", VM: "Ruby", Variant: "so"}))(t, `no VM "Ruby"`,
		"error")
}

func TestWorkDirectory(t *testing.T) {
	base := t.TempDir()
	own := filepath.Join(base, "nbody")
	directories := []string{filepath.Join(own, "suite"), own, base}
	must.Equal(t, workDirectory([]string{filepath.Join(base, "nowhere")}), "/", "without any directory")
	if err := os.WriteFile(own, nil, 0o600); err != nil { // a file is not a directory
		t.Fatal(err)
	}
	must.Equal(t, workDirectory(directories), base, "the directory of all benchmarks")
	must.Do(t, os.Remove(own))
	for _, directory := range []string{directories[1], directories[0]} {
		must.Do(t, os.Mkdir(directory, 0o700))
		must.Equal(t, workDirectory(directories), directory)
	}
}

// TestMostIterations: the maximum of the configuration must fit into the buffer, or an experiment
// could start that cannot measure.
func TestMostIterations(t *testing.T) {
	for n, fits := range map[int]bool{config.MaxIterations: true, config.MaxIterations + 1: false} {
		buffer, err := libkrun.Create(libkrun.Spec{Iterations: n})
		must.Be(t, (err == nil) == fits, "a buffer for", n, "iterations", err)
		if err == nil {
			_ = buffer.Close() // read-only
		}
	}
}

// TestDistrusted: what would run as root is judged before each execution; what has its own account
// is not.
func TestDistrusted(t *testing.T) {
	must.Root(t, "only root's programs are at stake")
	dir := t.TempDir()
	entry := filepath.Join(dir, "bench.py")
	must.Do(t, os.WriteFile(entry, nil, 0o644))
	must.Do(t, os.Chmod(dir, 0o777))
	e := Executor{Trust: trust.Verdict.OneOwner}
	asRoot := Job{Program: "/bin/sh", Entry: entry, Root: true}
	m, err := e.Execute(t.Context(), asRoot)
	must.Be(t, err == nil && m.Process.NotStarted != nil &&
		strings.Contains(m.Process.NotStarted.Text, "it would run as root"), "as root", m.Process, err)
	sticky := t.TempDir()
	must.Do(t, os.Chmod(sticky, 0o777|os.ModeSticky))
	for name, j := range map[string]Job{
		// their future owner is unknown
		"files to come": {Program: "/bin/sh", Entry: filepath.Join(sticky, "none"), Root: true},
		"its own account": {Program: "/bin/sh", Entry: entry, Root: true,
			Account: account.Account{Name: "krun", UID: 1000}},
		"a user's krund":     {Program: "/bin/sh", Entry: entry},
		"files that are not": {Program: "/bin/sh", Entry: filepath.Join(dir, "none"), Root: true},
	} {
		why := e.distrusted(j)
		must.Equal(t, (why != ""), strings.HasPrefix(name, "files"), name, why)
	}
}

// taken is how much of the stack arguments, environment and their pointers take.
func taken(c child.Command) int {
	texts := len(c.Path) + 1 + child.EnvBytes(c.Args) + child.EnvBytes(c.Env)
	return texts + up(8*(len(c.Args)+len(c.Env)), 16)
}

// TestLayoutIgnoresPaths: the length of paths and the number of arguments, in which arms differ, do
// not move the stack; the offset does, by its value.
func TestLayoutIgnoresPaths(t *testing.T) {
	for _, test := range []struct {
		layout Layout
		want   int
	}{
		{Layout{Mode: config.LayoutFixed}, padTo},
		{Layout{Mode: config.LayoutRandom, Offset: 0}, padTo},
		{Layout{Mode: config.LayoutRandom, Offset: 4080}, padTo + 4080},
	} {
		for _, args := range [][]string{nil, {"-x"}, {"-x", "-y", strings.Repeat("long", 100)}} {
			for _, home := range []string{"/h", "/a/longer/home"} {
				j := job(t, "nbody:C:so")
				j.VM.Args, j.Layout = args, test.layout
				j.VM.Env = append(j.VM.Env, "MORE="+home)
				j.Account = account.Account{Name: "krun", Home: home, UID: 900, GID: 900}
				c := j.command(installed)
				if got := taken(c); got != test.want || !c.FixedAddresses {
					t.Errorf("%+v, %q, %s: %d bytes, want %d", test.layout, args, home, got, test.want)
				}
				l, env := j.Layout.record(c)
				padding := len(c.Env[len(c.Env)-1]) - len("KRUN_LAYOUT=")
				if *l != (results.Layout{Mode: test.layout.Mode, PaddingBytes: padding,
					OffsetBytes: test.layout.Offset}) || env[len(env)-1] != "KRUN_LAYOUT=" {
					t.Errorf("%+v, %q", l, env[len(env)-1])
				}
			}
		}
	}
}
