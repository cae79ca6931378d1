package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/schedule"
	"krund/internal/trial/bisection"
	"krund/rig/must"
)

const stepText = `[experiment]
executions = 5
iterations = 40
order = "blocked"
reboot = "none"
account = "caller"
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 10 }
[arms.good]
revision = "@GOOD@"
benchmarks = "@GOOD_BUILD@"
[arms.candidate]
revision = "@CANDIDATE@"
benchmarks = "@CANDIDATE_BUILD@"
`

// measure runs a step as krund would: revisions from r11 on are 4 % slower.
func measure(t *testing.T, r *rand.Rand, file string) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	b := newExperimentAt(t, file, string(text))
	for range b.cfg.Slots() {
		slot := must.Get(b.sched.Begin())(t)
		rec := b.record(slot, results.Completed)
		arm := b.cfg.Arms[0]
		for _, other := range b.cfg.Arms[1:] {
			if slot.Key.Arm == other.Name && !other.Null {
				arm = other
			}
		}
		content, err := os.ReadFile(filepath.Join(arm.Benchmarks, "revision"))
		must.Need(t, err == nil && string(content) == arm.Revision, arm.Revision, "built", content, err)
		level := 1e6 * (1 + 0.01*float64(slot.Pexec)) * (1 + 0.01*r.NormFloat64())
		if n, err := strconv.Atoi(arm.Revision[1:]); err != nil || n >= 11 {
			level *= 1.04
		}
		for i := range rec.WallNS {
			rec.WallNS[i] = int64(level * (1 + 0.001*r.NormFloat64()))
			if i > 0 { // nothing lies between
				rec.StartNS[i] = rec.StartNS[i-1] + rec.WallNS[i-1]
			}
		}
		b.append(rec)
		b.must(b.sched.Finish(slot, schedule.Completed))
	}
	b.must(b.sched.Close())
}

// TestTemplateOfTheHelp: the template and the key that the help shows are enough for a first step,
// which krund would run. With reboots, the step is to be enabled.
func TestTemplateOfTheHelp(t *testing.T) {
	help := string(must.Get(helpTexts.ReadFile("help/bisect.txt"))(t))
	_, template, _ := strings.Cut(help, ":\n\n  [experiment]")
	template, _, _ = strings.Cut(template, "\n\n")
	_, key, _ := strings.Cut(help, "--key ")
	key, _, _ = strings.Cut(key, "\n")
	const build = `mkdir -p $KRUND_OUTPUT/nbody/c && echo $KRUND_REVISION > $KRUND_OUTPUT/nbody/c/bench.so`
	for _, test := range []struct{ text, next string }{
		{"[experiment]" + template, "krund run "},
		{strings.Replace("[experiment]"+template, "reboot = ", "# ", 1), "krunctl enable --start "},
	} {
		dir := t.TempDir()
		versions, step := filepath.Join(dir, "versions"), filepath.Join(dir, "step.toml")
		must.Write(t, versions, "a\nb\nc\n")
		must.Write(t, step, test.text)
		r := krunctl(t, "bisect", filepath.Join(dir, "b"), "--versions", versions, "--template", step,
			"--key", key, "--build", build)
		first := filepath.Join(dir, "b/step-001.toml")
		if r.code != exitLeftOut || !strings.Contains(r.stdout, test.next+first) {
			t.Errorf("no %s%s:\n%s", test.next, first, r.text())
			continue
		}
		must.Get(config.Load(first, "bencher7", doctor.Settings()))(t)
	}
}

type bisectAnswer struct {
	Action, Step string
	Version      int
	Blocks       int
	Probability  float64
	First, Last  int
}

// TestBisect: of 31 revisions, of which one cannot be built, the culprit is found by steps that are
// measured one after the other. A call between two steps changes nothing.
func TestBisect(t *testing.T) {
	dir := t.TempDir()
	state, versions, template := filepath.Join(dir, "b"), filepath.Join(dir, "versions"),
		filepath.Join(dir, "step.toml")
	var list []string
	for i := range 31 {
		list = append(list, "r"+strconv.Itoa(i))
	}
	must.Write(t, versions, strings.Join(list, "\n"))
	must.Write(t, template, stepText)
	args := []string{"bisect", "--format", "json", state, "--versions", versions, "--template", template,
		"--key",
		"nbody:C:v", "--build",
		`test $KRUND_REVISION != r15 && printf %s $KRUND_REVISION > $KRUND_OUTPUT/revision`}
	ask := func() (bisectAnswer, int) {
		t.Helper()
		got := krunctl(t, args...)
		args = args[:4]
		var answer bisectAnswer
		must.Do(t, json.Unmarshal([]byte(got.stdout), &answer), got.stderr)
		return answer, got.code
	}
	r := rand.New(rand.NewPCG(1, 5))
	answer, code := ask()
	steps := 0
	for ; answer.Action == "measure" && steps < 40; steps++ {
		again, _ := ask()
		must.Need(t, again == answer && code == exitLeftOut, answer, "then", again)
		measure(t, r, answer.Step)
		answer, code = ask()
	}
	must.Be(t, code == exitOK && answer.First == 11 && answer.Last == 11 && answer.Probability >= 0.975 &&
		answer.Blocks == 5*steps && steps <= 12, code, answer, steps, "steps")
	must.Get(os.Stat(filepath.Join(state, "builds", "0015.skip")))(t, "r15 was not skipped")
}

func TestBisectUsage(t *testing.T) {
	dir := t.TempDir()
	template, step := filepath.Join(dir, "x.toml"), filepath.Join(dir, "step.toml")
	two := filepath.Join(dir, "two")
	for name, text := range map[string]string{template: "x", step: stepText, two: "r0\nr1\n"} {
		must.Write(t, name, text)
	}
	state := filepath.Join(dir, "new")
	plan := state + " --build true --versions " + two
	for _, c := range []struct{ args, want string }{
		{dir, "needs --versions, --template, --build and --key"},
		{plan + " --template " + step + " --key nbody:C:v --timeout 50m", "which --to begins"},
		{dir + " --versions - --template x.toml --build true --key a:b:c", "there is no version"},
		{dir + " --versions " + template + " --template " + template + " --build true --key a:b:c",
			"at least two versions"},
		{plan + " --template " + step + " --key nbdy:C:v", "no key nbdy:C:v@good; it has [nbody:C:v@good"},
		{plan + " --template " + step + " --key *:C:v", "is not one key"},
		{plan + " --template " + step + " --key nbody:C:v@good", "is not one key"},
		{plan + " --template " + template + " --key nbody:C:v", "the template needs"},
		{strings.Replace(plan, "/new", "/n~w", 1) + " --template " + step + " --key nbody:C:v --to lab",
			"the name \"n~w-step-001\" contains '~'"}, // the name of an experiment of the hub
	} {
		got := krunctl(t, append([]string{"bisect"}, strings.Fields(c.args)...)...)
		must.Be(t, got.code != exitOK && strings.Contains(got.stderr, c.want), c.args, got.code, got.stderr)
	}
	must.Refused(os.Stat(state))(t, "", "a wrong plan was written")
}

// lab is a machine of a hub that measures while krunctl sleeps.
type lab struct {
	t   *testing.T
	hub *aHub
	now time.Time
	ran []string // names of experiments
	// wall is the level of an execution; nil: krund fails.
	wall wall
	// after is called after each experiment.
	after func()
}

func (l *lab) Now() time.Time {
	l.now = l.now.Add(time.Millisecond)
	return l.now
}

// Sleep is the time in which the machine runs one experiment.
func (l *lab) Sleep(ctx context.Context, d time.Duration) error {
	l.now = l.now.Add(d)
	n := l.hub.idle(l.t, "lab1")
	switch {
	case n == nil:
		l.t.Fatal("krunctl waits, and the queue is empty")
	case l.wall == nil:
		must.Get(l.hub.machines["lab1"].Ship(ctx,
			api.Ship{Experiment: &api.ShippedExperiment{ID: n.Experiment, Name: n.Name,
				ConfigHash: strings.Repeat("0", 64), Progress: api.Progress{Slots: 10, Left: 10, Ended: true,
					Reason: "the machine is unfit"}}}, nil))(l.t)
	default:
		l.hub.run(l.t, "lab1", n, l.wall)
	}
	l.ran = append(l.ran, n.Name)
	if l.after != nil {
		l.after()
	}
	return ctx.Err()
}

// bisect is a call of krunctl bisect --json.
func (l *lab) bisect(dir string, o bisectOptions) (bisectAnswer, string, error) {
	l.t.Helper()
	var stdout, stderr bytes.Buffer
	a := l.hub.app(l.t, "ann")
	a.stdout, a.stderr = &stdout, &stderr
	o.format = "json"
	err := a.bisect(l.t.Context(), dir, o, l)
	var answer bisectAnswer
	if stdout.Len() > 0 {
		must.Do(l.t, json.Unmarshal(stdout.Bytes(), &answer))
	}
	return answer, stderr.String(), err
}

// revisionLevel is the level of a revision as it was built, slower by 4 % from r5 on.
func revisionLevel(t *testing.T) wall {
	r := rand.New(rand.NewPCG(2, 5))
	return func(cfg *config.Config, k numbered) int64 {
		i := slices.IndexFunc(cfg.Arms, func(a config.Arm) bool { return a.Name == k.key.Arm })
		if i < 0 {
			return 1e6
		}
		built, err := os.ReadFile(filepath.Join(cfg.Arms[i].Benchmarks, "revision"))
		must.Need(t, err == nil && string(built) == cfg.Arms[i].Revision, "built", built, "of",
			cfg.Arms[i].Revision, err)
		level := 1e6 * (1 + 0.01*r.NormFloat64())
		if n, _ := strconv.Atoi(string(built[1:])); n >= 5 {
			level *= 1.04
		}
		return int64(level)
	}
}

// TestBisectHub: the steps of a bisection are experiments of a hub, and other experiments run in
// between. Calls end by their timeout, and the next one goes on with the same experiment.
func TestBisectHub(t *testing.T) {
	h := newHub(t)
	dir := t.TempDir()
	versions, template := filepath.Join(dir, "versions"), filepath.Join(dir, "step.toml")
	must.Write(t, template, stepText)
	must.Write(t, versions, "r0\nr1\nr2\nr3\nr4\nr5\nr6\nr7\nr8\n")
	o := bisectOptions{versions: versions, template: template, timeout: time.Nanosecond}
	o.Key, o.Delta, o.Most, o.Timeout, o.To = "nbody:C:v", 0.05, 60, "1m", "lab1"
	o.Build = `test -e ` + dir + `/network && printf %s $KRUND_REVISION > $KRUND_OUTPUT/revision`
	l := &lab{t: t, hub: h, now: time.Now()}
	state := filepath.Join(dir, "slow.bisect")
	if _, _, err := l.bisect(state, o); err == nil || !strings.Contains(err.Error(), "build r0") {
		t.Fatalf("the good version cannot be built: %v", err)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "network"), nil, 0o644))
	o = bisectOptions{timeout: time.Nanosecond}
	for range 3 { // each call ends before the step has
		_, text, err := l.bisect(state, o)
		must.Need(t, err != nil && strings.Contains(err.Error(), "has not ended within 1ns") &&
			strings.Contains(text, "0 blocks measured; it is not shown yet that r8 differs from r0"), err,
			text)
	}
	// The first step fails on the hub, and is submitted again by --retry.
	o.timeout = 0
	if _, _, err := l.bisect(state, o); err == nil ||
		!strings.Contains(err.Error(), "machine is unfit; --retry") {
		t.Fatalf("a failed step: %v", err)
	}
	l.wall, l.ran, o.retry = revisionLevel(t), nil, true
	other := repository(t)
	l.after = func() {
		if len(l.ran) != 2 {
			return
		}
		h.krunctl(t, "bob", "hub", "submit", other, "--to", "lab").works(t)
	}
	answer, text, err := l.bisect(state, o)
	must.Need(t, err == nil && answer.Action == "found" && answer.First == 5 && answer.Last == 5, err, answer,
		text)
	steps := slices.DeleteFunc(slices.Clone(l.ran), func(name string) bool { return name == "x" })
	must.Be(t, len(steps) == answer.Blocks/5 && len(l.ran) == len(steps)+1 && l.ran[2] == "x", "ran", l.ran,
		"for", answer.Blocks, "blocks")
	for i, name := range steps {
		must.Equal(t, name, fmt.Sprintf("slow-step-%03d", i+1), "step", i+1)
	}
}

// leaps is a clock on which sleeping takes no time.
type leaps struct{ now time.Time }

func (l *leaps) Now() time.Time { return l.now }

func (l *leaps) Sleep(ctx context.Context, d time.Duration) error {
	l.now = l.now.Add(d)
	return ctx.Err()
}

// TestBisectHubGone: with --retry, the id of a step that runs is kept although the hub does not
// answer any more, or refuses: submitted again, the step would be measured twice. What answers
// without naming the experiment is no hub.
func TestBisectHubGone(t *testing.T) {
	for _, c := range []struct {
		status            int
		answer, wantError string
	}{
		{http.StatusForbidden, `{"error": "the token has expired"}`, "the token has expired"},
		{http.StatusBadGateway, `{"error": "the hub is gone"}`, "the hub is gone"},
		{http.StatusOK, `{}`, "is this the hub's address?"},
	} {
		asked := 0
		hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			must.Equal(t, r.Method, http.MethodGet, r.URL)
			if asked++; asked <= 2 {
				fmt.Fprintf(w, `{"id": %q, "state": "running", "machines": 1}`, filepath.Base(r.URL.Path))
				return
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
		}))
		defer hub.Close()
		client := must.Get(api.NewClient(hub.URL, "x"))(t)
		dir := t.TempDir()
		step := filepath.Join(dir, "slow-step-001.toml")
		b := &bisection.Bisection{FS: durable.OS(), Dir: dir}
		must.Do(t, b.SetRemote(step, bisection.Remote{Hub: client.URL, ID: "running"}))
		h := hubSteps{a: &app{stderr: io.Discard, fsys: lax()}, b: b, client: client, clock: &leaps{},
			retry: true}
		must.Refuse(t, h.measure(t.Context(), step), c.wantError, c.status)
		remote, err := b.Remote(step)
		must.Be(t, err == nil && remote.ID == "running", c.status, "the step is", remote.ID, err)
	}
}
