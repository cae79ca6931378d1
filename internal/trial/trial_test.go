package trial

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"a b  c":             {"a", "b", "c"},
		`a 'b c' "d \" e"`:   {"a", "b c", `d " e`},
		`a\ b '' "\n" x'y'z`: {"a b", "", `\n`, "xyz"},
		" a\t$HOME ":         {"a", "$HOME"},
	} {
		got, err := Words(line)
		must.Be(t, err == nil && slices.Equal(got, want), line, got, err, "want", want)
	}
	for _, line := range []string{"", " ", "a 'b", `a "b`, `a \`, "''"} {
		got, err := Words(line)
		must.Be(t, err != nil, line, got)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`a 'b c' "d\"e" f\ g`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Words(line)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		again, err := Words(strings.Join(quoted, " "))
		must.Be(t, err == nil && slices.Equal(words, again), line, words, "then", again, err)
	})
}

func TestScan(t *testing.T) {
	for _, test := range []struct {
		low, high, step string
		want            []string
	}{
		{"1", "3", "1", []string{"1", "2", "3"}},
		{"0.1", "0.3", "0.1", []string{"0.1", "0.2", "0.3"}}, // 0.1 + 2*0.1 > 0.3 in floating point
		{"1", "2", "0.4", []string{"1.0", "1.4", "1.8"}},
		{"-1", "-1", "5", []string{"-1"}},
		{"2", "1", "1", nil}, {"1", "2", "0", nil}, {"1", "2", "-1", nil}, {"0", "1000", "1", nil},
		{"nan", "1", "1", nil}, {"0", "inf", "1", nil}, {"x", "1", "1", nil},
	} {
		p, err := Scan("n", test.low, test.high, test.step)
		must.Be(t, slices.Equal(p.Values, test.want) && (err == nil) == (test.want != nil), test.low,
			test.high, "by", test.step, p.Values, err)
	}
}

func TestSubjects(t *testing.T) {
	dir := t.TempDir()
	bench, script := filepath.Join(dir, "bench.py"), filepath.Join(dir, "script.py")
	for path, text := range map[string]string{bench: "def run_iter(n): pass\n", script: "print(1)\n"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o755)) // an executable script is a command
	}
	names := func(list []Subject) string {
		var all []string
		for _, s := range list {
			all = append(all, s.Name)
		}
		return strings.Join(all, " ")
	}
	shell := []string{"sh", "-c"}
	for _, test := range []struct {
		args []string
		o    SubjectOptions
		want string
	}{
		{[]string{"./a", "./b", "./x/a"}, SubjectOptions{}, "a b a-2"},
		{[]string{"sleep {s}"}, SubjectOptions{Parameters: []Parameter{{"s", []string{"0.1", "0.2"}}}},
			"sleep-0.1 sleep-0.2"},
		{[]string{"x {a}{b}"}, SubjectOptions{Parameters: []Parameter{{"a", []string{"1", "2"}},
			{"b", []string{"3", "4"}}}}, "x-13 x-14 x-23 x-24"},
		{[]string{bench, script}, SubjectOptions{Shell: shell}, "python3-bench.py script.py"},
		{[]string{bench}, SubjectOptions{VMs: []string{"/opt/bin/pypy3", "python3.12"}},
			"pypy3-bench.py python3.12-bench.py"},
		{[]string{"$(...)", "/"}, SubjectOptions{Shell: shell}, "command command-2"},
		{[]string{"a | b > '/dev/null'"}, SubjectOptions{Shell: shell}, "a-b-null"},
		{[]string{"shell-startup"}, SubjectOptions{}, "shell-startup-2"},
	} {
		list, err := Subjects(test.args, test.o)
		must.Be(t, err == nil && names(list) == test.want, test.args, names(list), err, test.want)
	}
	for _, test := range []struct {
		args []string
		o    SubjectOptions
	}{
		{[]string{" "}, SubjectOptions{}}, {[]string{"'a"}, SubjectOptions{}},
		{[]string{bench}, SubjectOptions{VMs: []string{"nosuchvm"}}},
		{[]string{bench}, SubjectOptions{VMs: []string{"node"}}},
		{[]string{"a", "b"}, SubjectOptions{Prepare: []string{"x", "y", "z"}}},
		{[]string{"a"}, SubjectOptions{Parameters: []Parameter{{"n", make([]string, 101)}}}},
	} {
		if list, err := Subjects(test.args, test.o); err == nil {
			t.Errorf("%q: %s", test.args, names(list))
		}
	}
}

// TestTOML: the configuration is valid and means the plan, whatever the commands contain.
func TestTOML(t *testing.T) {
	args := []string{"echo \"quoted\" 'text' \\ \t\x7f ü", "b {n}"}
	list := must.Get(Subjects(args, SubjectOptions{Shell: []string{"sh", "-c"}, Setup: "make {n}",
		Prepare: []string{"x\ny"}, Parameters: []Parameter{{"n", []string{"7"}}}}))(t)
	list = append(list, Subject{Name: "py", File: "/x/bench.py", Runner: "python", Program: "python3"})
	p := Plan{Subjects: list, Executions: 4, Iterations: []int{5, 6, 7}, Warmup: 2, Parameter: 9,
		IgnoreFailure: true, Calibrate: []string{"sh", "-c", ""}, Timeout: 1500 * time.Millisecond,
		Dir: "/home", Files: "/tmp/files", Env: []string{"PATH=/a:/b", "X=\"=\n"}}
	cfg := must.Get(config.Parse("/tmp/time.toml", []byte(p.TOML()), "host", doctor.Settings()))(t, p.TOML())
	must.Be(t, len(cfg.Keys()) == 4 && cfg.Experiment.Executions == 4 && cfg.Limits.Timeout == p.Timeout,
		"keys", cfg.Keys(), cfg.Experiment)
	for i, s := range list {
		vm, _, bench, err := cfg.Lookup(p.Key(s))
		must.Be(t, err == nil && vm.Iterations == p.Iterations[i] && bench.Parameter == 9 &&
			slices.Equal(vm.Env, p.Env), s.Name, vm, err)
	}
	vm, _, _, _ := cfg.Lookup(p.Key(list[0]))
	want := []string{"--warmup", "2", "--ignore-failure", "--setup", "make 7", "--directory", "/home",
		"--prepare", "x\ny", "--", "sh", "-c", args[0]}
	must.EqualList(t, vm.Args, want, "args")
	shell, _, _, err := cfg.Lookup(key.Key{Benchmark: Benchmark, VM: shellName, Variant: variantCommand})
	want = []string{"--directory", "/home", "--", "sh", "-c", ""}
	must.Be(t, err == nil && slices.Equal(shell.Args, want) && cfg.Experiment.Environment == "caller",
		"shell", shell.Args, err, "want", want, "environment", cfg.Experiment.Environment)
	p.Clean = true
	if cfg, err = config.Parse("/tmp/time.toml", []byte(p.TOML()), "host", doctor.Settings()); err != nil ||
		cfg.Experiment.Environment != "clean" {
		t.Errorf("clean: %v, environment %s", err, cfg.Experiment.Environment)
	}
	must.Equal(t, cfg.EntryPath(p.Key(list[2])), "/tmp/files/time/py/bench.py", "entry")
}

func TestSchedule(t *testing.T) {
	command, file := Subject{Name: "a"}, Subject{Name: "f", File: "/x"}
	own := Subject{Name: "o", Setup: "make"}
	ms := time.Millisecond
	for _, test := range []struct {
		name       string
		plan       Plan
		one        []time.Duration
		executions int
		iterations []int
		more       int // rounds in the next stage
	}{
		{"quick", Plan{Subjects: []Subject{command}, Least: 10}, []time.Duration{ms}, 10, []int{25}, 10},
		{"slow", Plan{Subjects: []Subject{command}, Least: 10}, []time.Duration{100 * time.Second}, 10,
			[]int{1}, 0},
		{"0.2 s", Plan{Subjects: []Subject{command}, Least: 10}, []time.Duration{200 * ms}, 10, []int{1}, 5},
		{"two", Plan{Subjects: []Subject{command, command}, Least: 10}, []time.Duration{ms, 50 * ms}, 10,
			[]int{25, 1}, 10},
		{"a minimum", Plan{Subjects: []Subject{command}, Least: 300}, []time.Duration{ms}, 300, []int{25}, 0},
		{"a maximum", Plan{Subjects: []Subject{command}, Least: 10, Most: 30}, []time.Duration{ms}, 10,
			[]int{3}, 0},
		{"a small maximum", Plan{Subjects: []Subject{command}, Least: 10, Most: 4}, []time.Duration{ms}, 4,
			[]int{1}, 0},
		{"runs are given", Plan{Subjects: []Subject{command, command}, Runs: 25}, nil, 25, []int{1, 1}, -1},
		{"200 runs", Plan{Subjects: []Subject{command}, Runs: 200}, nil, 50, []int{4}, -1},
		{"a prime", Plan{Subjects: []Subject{command}, Runs: 101}, nil, 101, []int{1}, -1},
		{"few runs", Plan{Subjects: []Subject{command}, Runs: 3}, nil, 3, []int{1}, -1},
		{"processes", Plan{Subjects: []Subject{own}, Least: 10}, []time.Duration{ms}, 10, []int{200}, -1},
		{"processes, runs are given", Plan{Subjects: []Subject{own}, Runs: 25}, nil, 10, []int{3}, -1},
		{"file", Plan{Subjects: []Subject{file}, Least: 10}, []time.Duration{ms}, 5, []int{1000}, -1},
		{"iterations are given", Plan{Subjects: []Subject{file, command}, Least: 10, Runs: 3, OfFile: 40},
			[]time.Duration{1, time.Second}, 3, []int{40, 1}, -1},
	} {
		p := test.plan
		p.schedule(test.one)
		must.Be(t, p.Executions == test.executions && slices.Equal(p.Iterations, test.iterations), test.name,
			p.Executions, "x", p.Iterations)
		if test.more >= 0 {
			must.Equal(t, p.more(test.one), test.more, test.name, "more")
		}
	}
}

// TestTurns: commands without anything that belongs to a process run in turns in one, each with
// what is its own; its runs are told apart by the column of the runner.
func TestTurns(t *testing.T) {
	list := must.Get(Subjects([]string{"a", "b"}, SubjectOptions{Shell: []string{"sh", "-c"},
		Prepare: []string{"x", "y"}}))(t)
	p := Plan{Subjects: list, Runs: 20, Calibrate: []string{"sh", "-c", ""}, Dir: "/d", Warmup: 2, Seed: 5}
	p.schedule(nil)
	cfg := must.Get(config.Parse("/tmp/time.toml", []byte(p.TOML()), "host", doctor.Settings()))(t, p.TOML())
	must.Need(t, slices.Equal(cfg.Keys(), []key.Key{turnsKey}) && cfg.Experiment.Executions == 1, cfg.Keys())
	vm, _, _, _ := cfg.Lookup(turnsKey)
	want := []string{"--warmup", "2", "--seed", "5",
		"--runs", "1", "--label", "a", "--directory", "/d", "--prepare", "x", "--also", "3", "sh", "-c", "a",
		"--runs", "1", "--label", "b", "--directory", "/d", "--prepare", "y", "--also", "3", "sh", "-c", "b",
		"--runs", "3", "--label", shellName, "--directory", "/d", "--", "sh", "-c", ""}
	must.EqualList(t, vm.Args, want, "args")
	p.Output = "out.txt" // which the start of the shell must not empty
	words := strings.Join(p.turnArgs(), " ")
	must.Contain(t, words, "--label shell-startup --directory /d --silent 1 -- sh", words)
	must.Equal(t, vm.Iterations, 20*5)
	e := dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore},
		{Name: "command", Core: dataset.NoCore}}}
	for i := range 100 { // each round has the shell, b, the shell, a, the shell
		e.Columns[0].Ints = append(e.Columns[0].Ints, int64(i))
		e.Columns[1].Ints = append(e.Columns[1].Ints, []int64{2, 1, 2, 0, 2}[i%5])
	}
	d := &dataset.Dataset{}
	must.Do(t, p.split(d, e))
	for k, want := range map[key.Key][]int64{p.Key(list[0]): {98}, p.Key(list[1]): {96},
		shellKey(): {95, 97, 99}} {
		last := find(d, k)[19]
		must.Be(t, last.Number == 20 && slices.Equal(last.Columns[0].Ints, want), k, last, want)
	}
	join(d, &dataset.Dataset{Pairs: d.Pairs[:1]}, 20)
	must.Equal(t, find(d, d.Pairs[0].Key)[39].Number, 40)
	e.Outcome, e.Reasons = results.Error, []string{"b: the command ended with exit status 3"}
	must.Equal(t, p.split(d, e).Error(), "b: the command ended with exit status 3; nothing is compared. "+
		"--ignore-failure counts such runs, too")
	e.Outcome, p.Runs, p.Executions = results.Completed, 21, 21
	must.Contain(t, p.split(d, e).Error(), "measured 100 runs, not 105")
	for name, change := range map[string]func(*Plan){
		"kept": func(p *Plan) { p.Saved = true }, "bounded": func(p *Plan) { p.Timeout = 1 },
		"set up": func(p *Plan) { p.Subjects[0].Setup = "make" },
		"a file": func(p *Plan) { p.Subjects[0] = Subject{File: "/x.py"} },
	} {
		q := p
		q.Subjects = slices.Clone(list)
		change(&q)
		must.Be(t, p.turns() && !q.turns(), name)
	}
}

// TestPrecise: looking ends when a level, or each comparison with the fastest, is known.
func TestPrecise(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds map[string]float64
		want    bool
	}{
		{"one", map[string]float64{"a": 0.1}, true}, // ± 1 % in 400 runs
		{"different", map[string]float64{"a": 0.1, "b": 0.13, "c": 0.2}, true},
		{"alike", map[string]float64{"a": 0.1, "b": 0.1}, true},
		{"by less than the margin shows", map[string]float64{"a": 0.1, "b": 0.101}, false},
	} {
		p := Plan{}
		for _, name := range slices.Sorted(maps.Keys(test.seconds)) {
			p.Subjects = append(p.Subjects, Subject{Name: name, Text: name})
		}
		must.Equal(t, p.precise(measured(p, test.seconds)), test.want, test.name)
	}
}

// TestAnswerLooked: the intervals of a measurement that ended when it was precise enough are those
// of the sequential test, wider than those of a fixed number; alike is the same.
func TestAnswerLooked(t *testing.T) {
	p := Plan{Subjects: []Subject{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}, {Name: "c", Text: "c"}}}
	d := measured(p, map[string]float64{"a": 0.13, "b": 0.1, "c": 0.1})
	fixed := must.Get(AnswerOf(p, d))(t)
	p.Looked = true
	looked := must.Get(AnswerOf(p, d))(t)
	for i, v := range looked.Compared {
		other := fixed.Compared[i]
		must.Be(t, v.Low < other.Low && v.High > other.High && v.Same == (v.Name != "a") &&
			v.Told == (v.Name == "a"), v, other)
	}
}

// measured makes the data of an experiment: 10 executions of 40 runs of each subject.
func measured(p Plan, seconds map[string]float64) *dataset.Dataset {
	r := rand.New(rand.NewPCG(1, 2))
	d := &dataset.Dataset{}
	add := func(k key.Key, mean float64) {
		for range 10 {
			wall, user := make([]int64, 40), make([]int64, 40)
			for i := range wall {
				wall[i] = int64(mean * 1e9 * (1 + 0.01*r.NormFloat64()))
				user[i] = wall[i] / 2
			}
			d.Add(k, dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{
				{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: wall},
				{Name: "user", Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: user}}})
		}
	}
	for _, s := range p.Subjects {
		add(p.Key(s), seconds[s.Name])
	}
	if p.Calibrate != nil {
		add(key.Key{Benchmark: Benchmark, VM: shellName, Variant: variantCommand}, seconds[shellName])
	}
	return d
}

func TestAnswer(t *testing.T) {
	p := Plan{Subjects: []Subject{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}, {Name: "c", Text: "c"}},
		Calibrate: []string{"sh", "-c", ""}}
	a := must.Get(AnswerOf(p, measured(p, map[string]float64{"a": 0.131, "b": 0.101, "c": 0.101,
		shellName: 0.001})))(t)
	must.Need(t, len(a.Compared) == 2 && a.Fastest != "a", a)
	for _, v := range a.Compared {
		if v.Name == "a" {
			// (0.131 - 0.001) / (0.101 - 0.001) = 1.3
			must.Be(t, v.Told && math.Abs(v.Ratio-1.3) <= 0.01 && (v.Low < 1.3 && v.High > 1.3), "a", v)
		} else if v.Told || !(v.Low < 1 && v.High > 1) {
			t.Errorf("%s: %+v", v.Name, v)
		}
	}
	r := a.Subjects[0]
	must.Be(t, r.Runs == 400 && math.Abs(float64(r.Mean)-0.130) <= 0.001 &&
		math.Abs(*r.User-0.065) <= 0.001 && r.Class == "flat" && len(r.Warnings) <= 0, "a", r)
	must.Get(json.Marshal(a))(t)
}

func TestAnswerWarns(t *testing.T) {
	p := Plan{Subjects: []Subject{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}},
		Calibrate: []string{"sh", "-c", ""}}
	d := measured(p, map[string]float64{"a": 0.003, "b": 0.1, shellName: 0.001})
	d.Pairs[1].Executions[0].Columns[0].Ints[0] *= 3
	last := &d.Pairs[1].Executions[9]
	last.Outcome, last.Reasons = results.Error, []string{"exit status 3"}
	for i := range d.Pairs {
		d.Pairs[i].Executions[1].Reasons = []string{results.BusyMachine + "x ran"}
	}
	a := must.Get(AnswerOf(p, d))(t)
	for i, want := range [][]string{
		{"it takes less than 5 ms"},
		{"1 of 10 executions failed: exit status 3", "the first run took 3.0 times the median"},
	} {
		got := a.Subjects[i].Warnings
		must.Need(t, len(got) == len(want), "warnings of", i, got)
		for j := range want {
			must.Be(t, strings.HasPrefix(got[j], want[j]), got[j], "want", want[j])
		}
	}
	must.Be(t, slices.Equal(a.Warnings, []string{results.BusyMachine + "x ran (in 2 of 20 executions)"}),
		"once for all commands", a.Warnings)
}

// TestAnswerTooShort: what takes less time than the start of its shell varies has no time, and no
// ratio. `krunctl time true` was -1.838 ms ± 7.850 ms.
func TestAnswerTooShort(t *testing.T) {
	p := Plan{Subjects: []Subject{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}, {Name: "c", Text: "c"}},
		Calibrate: []string{"sh", "-c", ""}, Dir: "/here", Inherited: []string{"LANG"}, Env: []string{"A=b"}}
	a := must.Get(
		AnswerOf(p, measured(p, map[string]float64{"a": 0.0009, "b": 0.1, "c": 0.2, shellName: 0.001})))(t)
	must.Be(t, a.Fastest == "b" && len(a.Compared) == 1 && a.Compared[0].Name == "c", "fastest", a.Fastest,
		a.Compared)
	must.Be(t, len(a.Warnings) == 1 && strings.HasPrefix(a.Warnings[0], "no ratio with a: "), "warnings",
		a.Warnings)
	short := a.Subjects[0]
	must.Be(t, short.TooShort && short.Runs == 400 && short.User == nil &&
		len(short.Times)+len(short.Warnings) <= 0 && !a.Subjects[1].TooShort, short)
	text := must.Get(json.Marshal(a))(t)
	for _, want := range []string{`"mean":null,"standard_deviation":null,"median":null,"min":null,"max":null`,
		`"level":{"mean":null,"low":null,"high":null}`, `"too_short":true`, `"slow":0.00101`,
		`"environment":{"of":"caller","directory":"/here","inherited":["LANG"],"set":["A=b"]}`} {
		must.Contain(t, string(text), want)
	}
	p.Clean = true
	e := p.environment()
	must.Be(t, e.Of == "clean" && len(e.Inherited) == 0 && len(e.Set) == 1, "clean", e)
}

// TestShellHides: the time of a command is known if it is longer than the start of its shell
// varies, and single slow starts do not change what is subtracted.
func TestShellHides(t *testing.T) {
	starts := func(ms ...float64) []dataset.Execution {
		for i := range ms {
			ms[i] /= 1e3
		}
		return []dataset.Execution{execution(1, ms), execution(2, ms)}
	}
	disturbed := starts(1, 1, 1, 1.2, 1, 1, 1.1, 1, 1, 1, 1, 1, 1, 1, 1.1, 1, 1, 1, 1, 150)
	varied := starts(1, 1.5, 2, 0.8, 1, 0.9, 2.5, 1, 1.8, 1)
	for _, test := range []struct {
		name  string
		shell []dataset.Execution
		runs  []float64 // ms, the start of the shell included
		want  bool
	}{
		{"no shell", nil, []float64{0.1, 0.2}, false},
		{"longer", disturbed, []float64{4.2, 4.1, 5, 4.3}, false},
		{"longer, disturbed", disturbed, []float64{4.2, 4.1, 300, 4.3}, false},
		{"a run that is shorter than a start", disturbed, []float64{4.2, 0.9, 5, 4.3}, true},
		{"not longer", disturbed, []float64{1, 1.1, 1.2, 20}, true},
		{"less than a start varies", varied, []float64{1.5, 1.6, 1.7}, true},
		{"more than a start varies", varied, []float64{2.5, 2.6, 2.7}, false},
	} {
		shell := shellOf(test.shell)
		for i := range test.runs {
			test.runs[i] /= 1e3
		}
		must.Equal(t, shell.hides(test.runs), test.want, test.name, "the start takes", shell)
	}
	if s := shellOf(disturbed); math.Abs(float64(s.Mean)-0.001) > 1e-9 {
		t.Errorf("the start takes %v s, want 0.001: the mean of all is 0.0085", s.Mean)
	}
}

// TestAnswerOfUnsteady: an execution without a steady state. On a terminal two means of 87.79 and
// 12.25 µs stood above a ratio of 27.57, with nothing to explain it. Here 50 iterations of 60 µs
// come before 150 of 2 µs, of which the last 10 are slower: the mean of all is 16.55 µs, the level
// 2 µs.
func TestAnswerOfUnsteady(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := Plan{Subjects: []Subject{{Name: "a", Text: "a", File: "a.py"}}}
	d := &dataset.Dataset{}
	for number := range 5 {
		wall := make([]float64, 200)
		for i := range wall {
			wall[i] = 2e-6
			switch {
			case i < 50:
				wall[i] = 60e-6
			case i >= 190:
				wall[i] = 3e-6
			}
			wall[i] *= 1 + 0.001*r.NormFloat64()
		}
		d.Add(p.Key(p.Subjects[0]), execution(number+1, wall))
	}
	a := must.Get(AnswerOf(p, d))(t)
	got := a.Subjects[0]
	const want = "its times did not become steady in every execution: the mean is that of all " +
		"iterations, and describes no state of it; a comparison takes 2.0"
	must.Be(t, len(got.Warnings) == 1 && strings.HasPrefix(got.Warnings[0], want) &&
		strings.HasSuffix(got.Warnings[0], " µs, without the warm-up") &&
		math.Abs(float64(got.Mean)-16.55e-6) <= 1e-7, "mean", got.Mean, got.Class, got.Warnings)
	// what is steady in every execution, but slower at the end in some, has another reason
	slower := Timing{Class: classify.BadInconsistent}
	if slower.warnClass(); len(slower.Warnings) != 1 ||
		slower.Warnings[0] != "it became slower in some executions" {
		t.Errorf("%q", slower.Warnings)
	}
}

// TestAnswerOfNothing: subjects that never ran, and a single execution.
func TestAnswerOfNothing(t *testing.T) {
	p := Plan{Subjects: []Subject{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}}}
	d := &dataset.Dataset{}
	a, err := AnswerOf(p, d)
	must.Be(t, err == nil && len(a.Compared) <= 0 && len(a.Subjects) == 2, "nothing", a, err)
	for i, s := range p.Subjects {
		d.Add(p.Key(s), dataset.Execution{Outcome: results.Completed, Columns: []dataset.Column{{
			Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
			Reals: []float64{1 + float64(i)}}}})
	}
	if a, err = AnswerOf(p, d); err != nil || len(a.Compared) != 1 || a.Compared[0].Told ||
		math.Abs(a.Compared[0].Ratio-2) > 1e-9 || a.Subjects[0].Mean != 1 ||
		!math.IsNaN(float64(a.Subjects[0].SD)) {
		t.Errorf("one execution: %+v, %v", a, err)
	}
	text, err := json.Marshal(a.Compared[0])
	must.Be(t, err == nil && strings.Contains(string(text), `"low":null`), text, err)
}
