package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/pages"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// aHub is a hub with two machines in the pool lab, and a user.
type aHub struct {
	url      string
	users    map[string]string // tokens
	machines map[string]*api.Client
}

func newHub(t *testing.T) *aHub {
	t.Helper()
	dir := t.TempDir()
	db := must.Get(database.Open(t.Context(), filepath.Join(dir, "hub.sqlite"), time.Now))(t)
	blobs := must.Get(store.OpenDirectory(durable.OS(), filepath.Join(dir, "blobs")))(t)
	log := slog.New(slog.DiscardHandler)
	view := pages.New(t.Context(), pages.Options{DB: db, Store: blobs, Log: log,
		Dir: filepath.Join(dir, "experiments")})
	web := httptest.NewServer((&server.Server{DB: db, Store: blobs, Pages: view, Log: log,
		Spool: t.TempDir()}).Handler())
	t.Cleanup(func() { web.Close(); _ = db.Close() })
	h := &aHub{url: web.URL, users: map[string]string{}, machines: map[string]*api.Client{}}
	must.Do(t, db.Update(t.Context(), func(tx *sql.Tx) error {
		for name, role := range map[string]access.Role{"ann": access.User, "bob": access.User,
			"eve": access.Reader} {
			if err := db.AddUser(t.Context(), tx, database.User{Name: name, Role: role}); err != nil {
				return err
			}
			token, err := db.AddToken(t.Context(), tx, database.Token{Role: role, Owner: name})
			if err != nil {
				return err
			}
			h.users[name] = token
		}
		for _, name := range []string{"lab1", "lab2"} {
			_, token, err := db.Join(t.Context(), tx, name, "lab")
			if err != nil {
				return err
			}
			h.machines[name] = &api.Client{URL: web.URL, Token: token}
		}
		return nil
	}))
	return h
}

// app is krunctl of a user of the hub.
func (h *aHub) app(t *testing.T, user string) *app {
	t.Helper()
	a := testApp(t)
	a.now, a.host = time.Now, "laptop"
	a.env = func(name string) string {
		return map[string]string{"KRUNHUB_URL": h.url, "KRUNHUB_TOKEN": h.users[user]}[name]
	}
	return a
}

// krunctl runs a command as a user of the hub.
func (h *aHub) krunctl(t *testing.T, user string, args ...string) ran {
	t.Helper()
	return runApp(h.app(t, user), args...)
}

// repository is a git repository with an experiment whose benchmark differs in two revisions.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		must.Write(t, path, text)
	}
	git := func(args ...string) {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@x"},
			args...)...)
		out, err := c.CombinedOutput()
		must.Do(t, err, "git", args, out)
	}
	write("lab/x.toml", `[experiment]
executions = 4
reboot = "none"
benchmarks = "../src/benchmarks"
[vms.Python]
runner = "python"
path = "python3"
variants = ["v"]
[variants.v]
entry = "bench.py"
[benchmarks]
b = { parameter = 1 }
`)
	write("src/benchmarks/b/bench.py", "first\n")
	git("init", "--quiet", "-b", "main")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	git("tag", "v1")
	write("src/benchmarks/b/bench.py", "second\n")
	git("commit", "--quiet", "-am", "second")
	return filepath.Join(dir, "lab/x.toml")
}

// idle is a machine that asks what is next.
func (h *aHub) idle(t *testing.T, machine string) *api.Next {
	t.Helper()
	receipt := must.Get(h.machines[machine].Ship(t.Context(), api.Ship{}, nil))(t)
	return receipt.Orders.Next
}

// run is a machine that unpacks its part, and ships records of it.
func (h *aHub) run(t *testing.T, machine string, n *api.Next, level wall) *config.Config {
	t.Helper()
	client := h.machines[machine]
	content := must.Get(client.Blob(t.Context(), n.Bundle))(t)
	defer content.Close()
	dir := filepath.Join(t.TempDir(), n.Experiment)
	m := must.Get(bundle.Unpack(content, dir, func(text []byte) ([]byte, error) {
		return config.WithShard(text, n.Index, n.Count), nil
	}, nil))(t)
	cfg := must.Get(config.Open(filepath.Join(dir, m.Config), machine, doctor.Settings()))(t)
	s := api.Ship{Experiment: &api.ShippedExperiment{ID: n.Experiment, Name: n.Name, ConfigHash: cfg.Hash,
		Progress: api.Progress{Slots: cfg.Slots(), Completed: cfg.Slots(), Ended: true}}}
	contents := map[string][]byte{store.Hash([]byte(cfg.Text)): []byte(cfg.Text)}
	s.Entries = append(s.Entries, api.Entry{Name: "config.toml", Hash: store.Hash([]byte(cfg.Text)),
		Size: int64(len(cfg.Text))})
	results := t.TempDir()
	for slot, k := range slots(cfg) {
		name := shippedRecord(t, results, machine, n.Name, slot, k.key, k.number, level(cfg, k))
		text := must.Get(os.ReadFile(name))(t)
		contents[store.Hash(text)] = text
		s.Entries = append(s.Entries, api.Entry{Slot: slot, Attempt: 1, Hash: store.Hash(text),
			Size: int64(len(text))})
	}
	must.Get(client.Ship(t.Context(), s, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(contents[e.Hash])), nil
	}))(t)
	return cfg
}

type numbered struct {
	key    key.Key
	number int
}

// wall is the time of an iteration in nanoseconds.
type wall func(*config.Config, numbered) int64

// secondSlower is a second arm that is slower.
func secondSlower(cfg *config.Config, k numbered) int64 {
	ns := int64(1_000_000 + 1000*k.number)
	if len(cfg.Arms) > 1 && k.key.Arm == cfg.Arms[1].Name {
		ns += 100_000
	}
	return ns
}

func slots(cfg *config.Config) []numbered {
	var list []numbered
	for number := 1; number <= cfg.Experiment.Executions; number++ {
		if cfg.Experiment.Shard.Has(number) {
			for _, k := range cfg.Keys() {
				list = append(list, numbered{k, number})
			}
		}
	}
	return list
}

// shippedRecord writes a record as krund does, and returns its path.
func shippedRecord(t *testing.T, dir, machine, name string, slot int, k key.Key, number int,
	level int64) string {
	t.Helper()
	wall, start := make([]int64, 20), make([]int64, 20)
	for i := range wall {
		wall[i] = level + int64(10*(i%3))
		if machine == "lab2" {
			wall[i] += 50_000
		}
		start[i] = int64(i) * 2_000_000
	}
	r := completed(k, slot, number, wall)
	r.Experiment, r.Host, r.StartNS = name, machine, start
	must.Do(t, results.NewAppender(durable.OS(), dir).Append(r))
	return filepath.Join(dir, results.Name{Slot: slot, Attempt: 1}.String())
}

// TestHub: two revisions become arms, two machines share the experiment, and the verdict is that of
// their records together.
func TestHub(t *testing.T) {
	h := newHub(t)
	toml := repository(t)
	r := h.krunctl(t, "ann", "hub", "submit", toml, "--to", "lab", "--machines", "2", "--arms", "v1,main,v1",
		"--build", "test -f src/benchmarks/b/bench.py && echo built >src/benchmarks/b/built")
	id := strings.TrimSpace(r.stdout)
	must.Need(t, r.code == exitOK && id != "" &&
		strings.Contains(r.stderr, "the machine must have python3, krund"), r.text())
	h.krunctl(t, "eve", "compare", id).says(t, exitWaiting, "", "")
	h.krunctl(t, "eve", "hub", "wait", "--timeout", "1ns", id).says(t, exitWaiting, "", "")
	for i, machine := range []string{"lab1", "lab2"} {
		n := h.idle(t, machine)
		must.Need(t, n != nil && n.Experiment == id && n.Index == i && n.Count == 2, machine, "gets", n)
		cfg := h.run(t, machine, n, secondSlower)
		var arms []string
		for _, arm := range cfg.Arms {
			text, _ := os.ReadFile(filepath.Join(arm.Benchmarks, "b/bench.py"))
			built, _ := os.ReadFile(filepath.Join(arm.Benchmarks, "b/built"))
			arms = append(arms, fmt.Sprintf("%s %v %s%s", arm.Name, arm.Null, text, built))
		}
		want := "v1 false first\nbuilt\n|main false second\nbuilt\n|v1-3 true "
		must.Be(t, strings.Join(arms, "|") == want && cfg.Slots() == 2*3, machine, arms, cfg.Slots(),
			"slots")
	}
	h.krunctl(t, "eve", "hub", "get", "experiments/"+id).says(t, exitOK, "\"state\": \"done\"", "")
	h.krunctl(t, "eve", "hub", "get", "/api/v1/machines?after=lab1").says(t, exitOK, "\"name\": \"lab2\"", "")
	h.krunctl(t, "eve", "hub", "get", "nothing").says(t, exitError, "", "no such address")
	if r := h.krunctl(t, "eve", "hub", "wait", id); r.code != exitOK || r.stdout != "done\n" {
		t.Error(r.text())
	}
	r = h.krunctl(t, "eve", "compare", "--format", "json", id)
	var document struct {
		Changes []struct {
			Verdict  string
			Machines struct{ Machines int }
			Steady   struct {
				After    int `json:"after_executions"`
				Estimate struct{ Estimate float64 }
			}
		}
	}
	err := json.Unmarshal([]byte(r.stdout), &document)
	must.Need(t, err == nil && len(document.Changes) == 1, err, r.text())
	c := document.Changes[0]
	must.Be(t, r.code == exitError && c.Verdict == "worse" && c.Machines.Machines == 2 && c.Steady.After == 4,
		"exit", r.code, c, r.stderr)
	if r := h.krunctl(t, "eve", "compare", "--arms", "v1,v9", id); r.code == exitOK ||
		strings.Contains(r.stderr, "krunctl-verdict") || !strings.Contains(r.stderr, "x ("+id+")") {
		t.Errorf("a temporary path is named: %s", r.text())
	}
	r = h.krunctl(t, "eve", "compare", "--format", "junit", id)
	if !strings.Contains(r.stdout, `<testsuite name="x (`+id+`): v1 → main"`) ||
		strings.Contains(r.stderr, "krunctl:") { // a verdict is no error
		t.Error(r.text())
	}
}

// TestHubRefuses: who may do what, and what is no submission.
func TestHubRefuses(t *testing.T) {
	h := newHub(t)
	toml := repository(t)
	id := strings.TrimSpace(h.krunctl(t, "ann", "hub", "submit", toml, "--to", "lab1").stdout)
	for _, c := range []struct {
		user string
		args []string
		code int
		want string
	}{
		{"eve", []string{"hub", "submit", toml, "--to", "lab1"}, exitError, "role user"},
		{"ann", []string{"hub", "submit", toml, "--to", "lab9"}, exitError, "no machine or pool \"lab9\""},
		{"ann", []string{"hub", "submit", toml, "--to", "lab", "--machines", "3"}, exitError,
			"has 2 machines"},
		{"ann", []string{"hub", "submit", toml}, exitUsage, "--to is missing"},
		{"ann", []string{"hub", "submit", toml, "--to", "lab", "--build", "make"}, exitUsage,
			"--build is for --arms"},
		{"ann", []string{"hub", "submit", toml, "--to", "lab", "--arms", "v1,v9"}, exitUsage,
			"no revision \"v9\""},
		{"ann", []string{"hub", "submit", toml, "--to", "lab", "--arms", "v1,--help"}, exitUsage,
			"no revision"},
		{"bob", []string{"hub", "request", "stop", id}, exitError, "only its owner"},
		{"eve", []string{"hub", "request", "stop", id}, exitError, "role user"},
		{"ann", []string{"hub", "request", "kill", id}, exitUsage, "hold, resume or stop"},
		{"eve", []string{"hub", "wait", "none"}, exitError, "not found"},
		{"", []string{"hub", "wait", id}, exitUsage, "KRUNHUB_TOKEN"},
	} {
		r := h.krunctl(t, c.user, c.args...)
		r.says(t, c.code, "", c.want, c.user, c.args, "and")
	}
	h.krunctl(t, "ann", "hub", "request", "stop", id).says(t, exitOK, "", "")
	if r := h.krunctl(t, "eve", "hub", "wait", id); r.code != exitError || r.stdout != "stopped\n" {
		t.Error(r.text())
	}
	r := h.krunctl(t, "eve", "compare", id)
	r.says(t, exitError, "", "no machine has shipped results")
	n := h.idle(t, "lab1")
	must.Be(t, n == nil, "a stopped experiment is given to a machine", n)
	ann := &api.Client{URL: h.url, Token: h.users["ann"]}
	err := ann.SendBundle(context.Background(), store.Hash([]byte("x")), 1, strings.NewReader("x"))
	must.Refuse(t, err, "not a valid bundle", "a file that is no bundle")
}
