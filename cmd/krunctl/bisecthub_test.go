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

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/hub/api"
	"krund/internal/trial/bisection"
	"krund/rig/must"
)

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
	for name, text := range map[string]string{template: stepText,
		versions: "r0\nr1\nr2\nr3\nr4\nr5\nr6\nr7\nr8\n"} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
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
		client, err := api.NewClient(hub.URL, "x")
		must.Do(t, err)
		dir := t.TempDir()
		step := filepath.Join(dir, "slow-step-001.toml")
		b := &bisection.Bisection{FS: durable.OS(), Dir: dir}
		must.Do(t, b.SetRemote(step, bisection.Remote{Hub: client.URL, ID: "running"}))
		h := hubSteps{a: &app{stderr: io.Discard, fsys: lax()}, b: b, client: client, clock: &leaps{},
			retry: true}
		err = h.measure(t.Context(), step)
		must.Refuse(t, err, c.wantError, c.status)
		remote, err := b.Remote(step)
		must.Be(t, err == nil && remote.ID == "running", c.status, "the step is", remote.ID, err)
	}
}
