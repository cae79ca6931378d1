package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/given"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// machineOf is krunctl on a machine of the hub, as a user.
func (h *aHub) machineOf(t *testing.T, name string, allow ...string) *app {
	t.Helper()
	a := shipTo(t, h.url, h.machines[name].Token, "5m")
	hub := joined.Hub{URL: h.url, Token: h.machines[name].Token, Deadline: "5m", Allow: allow}
	must.Do(t, hub.Store(durable.OS(), a.hubFile))
	a.host = name
	a.runtime = []string{t.TempDir()}
	return a
}

// fakeKrund puts a krund into PATH that notes how it was called.
func fakeKrund(t *testing.T, script string) (trace string) {
	t.Helper()
	dir := t.TempDir()
	trace = filepath.Join(dir, "trace")
	text := "#!/bin/sh\necho \"$@\" >>" + trace + "\n" + script + "\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "krund"), []byte(text), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return trace
}

// TestBegin: an idle machine asks, unpacks its part, notes whose it is, and starts krund; what was
// interrupted is begun again, and what cannot be begun is reported.
func TestBegin(t *testing.T) {
	h := newHub(t)
	toml := repository(t)
	id := strings.TrimSpace(h.krunctl(t, "ann", "hub", "submit", toml, "--to", "lab", "--machines",
		"2").stdout)
	trace := fakeKrund(t, "")
	a := h.machineOf(t, "lab1")
	for range 2 { // the second time as after a crash
		runApp(a, "hub", "ship").says(t, exitOK, "", "")
	}
	path := filepath.Join(a.state, "hub", id, "lab/x.toml")
	got, _ := os.ReadFile(trace)
	must.Equal(t, string(got), strings.Repeat("run "+path+"\n", 2), "krund was called", got)
	text, _ := os.ReadFile(path)
	must.Contain(t, string(text), "shard = \"1/2\"")
	m, err := ship.Load(durable.OS(), strings.TrimSuffix(path, ".toml")+".krun/hub.json", h.url)
	must.Be(t, err == nil && m.Experiment == id && m.Given, m, err)

	fakeKrund(t, "echo the machine is not fit >&2; exit 1")
	b := h.machineOf(t, "lab2")
	runApp(b, "hub", "ship").says(t, exitError, "", "the machine is not fit")
	r := h.krunctl(t, "eve", "hub", "wait", "--timeout", "1ns", id)
	must.Contain(t, r.stderr, "running, 2 of", r.text())
	n := h.idle(t, "lab2")
	must.Be(t, n == nil, "the part that failed is given to the same machine", n)
}

// TestBuildBeforeItBegins: krund builds what the bundle says, once, and runs what was built. If the
// build fails, the hub has the last lines that it has printed.
func TestBuildBeforeItBegins(t *testing.T) {
	h := newHub(t)
	toml := repository(t)
	submitted := func() string {
		t.Helper()
		cfg := must.Get(config.Load(toml, "lab1", doctor.Settings()))(t)
		client := &api.Client{URL: h.url, Token: h.users["ann"]}
		id, source := api.NewID(), cfg.Experiment.Benchmarks
		built := bundle.Copy{From: source, As: source, Build: []string{"make", "{directory}"},
			Time: time.Hour}
		session := submit.Session{Client: client, Clock: sysroot.RealClock{}, Say: t.Logf}
		must.Do(t, session.Send(t.Context(), cfg, []bundle.Copy{built},
			api.Submission{ID: id, Target: "lab1", Machines: 1}))
		return id
	}
	const building = `[ "$1" = build ] || exit 0
echo %s; mkdir -p "$5/b"; cp "$4"/b/* "$5/b"; exit %d`
	id := submitted()
	trace := fakeKrund(t, fmt.Sprintf(building, "made", 0))
	a := h.machineOf(t, "lab1")
	at := filepath.Join(joined.Given(a.state), id)
	for range 2 { // the second time as after a crash
		runApp(a, "hub", "ship").says(t, exitOK, "", "")
	}
	want := fmt.Sprintf("build --time 1h0m0s %s.tmp/src/benchmarks %[1]s.built.tmp make {directory}\n", at) +
		strings.Repeat("run "+at+"/lab/x.toml\n", 2)
	must.Equal(t, string(must.Get(os.ReadFile(trace))(t)), want)
	must.Equal(t, string(must.Get(os.ReadFile(at+"/src/benchmarks/b/bench.py"))(t)), "second\n")
	log := string(must.Get(os.ReadFile(at + "/lab/x.krun/build.log"))(t))
	must.Equal(t, log, "# src/benchmarks: make '{directory}'\nmade\n")
	must.Do(t, os.RemoveAll(at)) // the hub gives it again, and the machine has to build again
	fakeKrund(t, fmt.Sprintf(building, "'error: no such thing'; echo end", 4))
	const reason = "build src/benchmarks: error: no such thing | end"
	runApp(a, "hub", "ship").says(t, exitError, "", reason)
	h.krunctl(t, "eve", "hub", "wait", id).says(t, exitError, "failed\n", reason)
	must.Equal(t, len(must.Get(os.ReadDir(joined.Given(a.state)))(t)), 0, "something is left")
}

// TestBeginRefuses: root does not run what the machine's owner does not allow, even if the hub
// sends it.
func TestBeginRefuses(t *testing.T) {
	must.Root(t, "only root's commands are at stake")
	h := newHub(t)
	toml := repository(t)
	text := must.Get(os.ReadFile(toml))(t)
	text = append(text, "[hooks]\nbefore = [[\"/bin/true\"]]\n"...)
	must.Do(t, os.WriteFile(toml, text, 0o644))
	id := strings.TrimSpace(h.krunctl(t, "ann", "hub", "submit", toml, "--to", "lab1").stdout)
	a := h.machineOf(t, "lab1", joined.AllowNotify)
	a.uid = 0
	runApp(a, "hub", "ship").says(t, exitError, "", `does not allow [hooks] ("hooks")`)
	r := h.krunctl(t, "eve", "hub", "wait", id)
	must.Be(t, r.code == exitError && r.stdout == "failed\n" &&
		strings.Contains(r.stderr, "does not allow [hooks]"), r.text())
	list, err := os.ReadDir(joined.Given(a.state))
	must.Be(t, len(list) == 0 && err == nil, "what was refused is unpacked", list, err)
}

// unitFS has the drop-in of a unit that does not start at boot.
type unitFS struct {
	durable.FS
	config string
}

func (f unitFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if filepath.Base(name) != "experiment.conf" {
		return f.FS.OpenFile(name, flag, perm)
	}
	text, err := autostart.DropIn(f.config)
	if err != nil {
		return nil, err
	}
	name = filepath.Join(os.TempDir(), fmt.Sprintf("krund-drop-in-%d", os.Getpid()))
	defer os.Remove(name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return f.FS.OpenFile(name, flag, perm)
}

// TestSameNameAgain: a name that an experiment of the hub had, which has ended, is free.
func TestSameNameAgain(t *testing.T) {
	a := testApp(t)
	a.uid, a.state = 0, t.TempDir()
	cfg := must.Get(config.Parse(filepath.Join(joined.Given(a.state), "new/x.toml"),
		[]byte("[vms.C]\nrunner = \"c\"\nvariants = [\"v\"]\n[variants.v]\nentry = \"b.so\"\n"+
			"[benchmarks]\nb = { parameter = 1 }\n"), "lab1", doctor.Settings()))(t)
	for path, want := range map[string]string{filepath.Join(joined.Given(a.state), "old/x.toml"): "",
		cfg.Path: "", "/root/x.toml": "has krund@x.service already, for /root/x.toml"} {
		a.fsys = unitFS{durable.OS(), path}
		err := a.joinedMachine().OwnName(cfg)
		must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)), path,
			err, "want", want)
	}
}

// TestBegunInVain: what krund could not open when it was enabled is reported with krund's reason,
// and not begun again for ever.
func TestBegunInVain(t *testing.T) {
	must.Root(t, "only root enables experiments")
	h := newHub(t)
	id := strings.TrimSpace(h.krunctl(t, "ann", "hub", "submit", repository(t), "--to", "lab1").stdout)
	trace := fakeKrund(t, "")
	a := h.machineOf(t, "lab1")
	runApp(a, "hub", "ship").says(t, exitOK, "", "", "it is unpacked")
	a.uid = 0
	a.systemctl = func(_ context.Context, args ...string) error {
		t.Errorf("systemctl %q", args)
		return nil
	}
	path := filepath.Join(joined.Given(a.state), id, "lab/x.toml")
	_, err := a.joinedMachine().Note(path, h.url, id, true)
	known := ship.KnownAt(a.fsys, a.state) // the krund of a user has begun it
	if err = errors.Join(err, known.Remove(directory.For(path))); err != nil {
		t.Fatal(err)
	}
	log := "time=1 level=ERROR msg=\"krund ended\" status=1 error=\"the runner is\\n\\\"missing\\\"\"\n"
	must.Do(t, os.WriteFile(filepath.Join(directory.For(path), "log"), []byte(log), 0o600))
	const want = `is not enabled any more: the runner is`
	runApp(a, "hub", "ship").says(t, exitError, "", want)
	h.krunctl(t, "eve", "hub", "wait", id).says(t, exitError, "", want)
	got, _ := os.ReadFile(trace)
	must.Equal(t, strings.Count(string(got), "run"), 1, "krund was called", got)
	_, err = os.Lstat(filepath.Dir(path))
	must.Be(t, err != nil, "it is still unpacked")
}

// TestStoppedOnTheMachine: an experiment that a person stopped on the machine is not begun again by
// the hub, although the hub was not there when it was stopped.
func TestStoppedOnTheMachine(t *testing.T) {
	must.Root(t, "only root enables experiments")
	h := newHub(t)
	id := strings.TrimSpace(h.krunctl(t, "ann", "hub", "submit", repository(t), "--to", "lab1").stdout)
	trace := fakeKrund(t, "")
	a := h.machineOf(t, "lab1")
	runApp(a, "hub", "ship").says(t, exitOK, "", "")
	path := filepath.Join(a.state, "hub", id, "lab/x.toml")
	text := must.Get(os.ReadFile(path))(t)
	b := newExperimentAt(t, path, string(text))
	b.run(results.Completed)
	a.uid = 0
	a.systemctl = func(_ context.Context, args ...string) error {
		t.Errorf("systemctl %q", args)
		return nil
	}
	if err := ship.KnownAt(durable.OS(), a.state).Add(b.dir()); err != nil { // by krund's shipment
		t.Fatal(err)
	}
	for range 2 {
		runApp(a, "hub", "ship").says(t, exitOK, "", "")
	}
	got, _ := os.ReadFile(trace)
	must.Equal(t, strings.Count(string(got), "run"), 1, "krund was called", got)
	r := h.krunctl(t, "eve", "hub", "wait", id)
	r.says(t, exitError, "", "failed; lab1: stopped on the machine")
}

// noBundles is a network in which bundles do not arrive.
type noBundles struct{}

func (noBundles) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, api.PathBlob) {
		return nil, io.ErrUnexpectedEOF
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestBundleThatDoesNotArrive: the part stays with the machine, which fetches it again.
func TestBundleThatDoesNotArrive(t *testing.T) {
	h := newHub(t)
	h.krunctl(t, "ann", "hub", "submit", repository(t), "--to", "lab1")
	n := h.idle(t, "lab1")
	client := *h.machines["lab1"]
	client.HTTP = &http.Client{Transport: noBundles{}}
	err := h.machineOf(t, "lab1").begin(t.Context(), &client, *n, joined.Hub{})
	must.Fail(t, err, given.ErrAgain)
	again := h.idle(t, "lab1")
	must.Be(t, again != nil && *again == *n, "the hub gives", again, "want", n, "again")
}

// TestUnpackChecksTheHash: a bundle that is not the one of the hub's answer is not unpacked.
func TestUnpackChecksTheHash(t *testing.T) {
	h := newHub(t)
	toml := repository(t)
	h.krunctl(t, "ann", "hub", "submit", toml, "--to", "lab1")
	n := h.idle(t, "lab1")
	a := h.machineOf(t, "lab1")
	other := sha256.Sum256([]byte("other"))
	n.Bundle = hex.EncodeToString(other[:])
	must.Be(t, a.begin(t.Context(), h.machines["lab1"], *n, joined.Hub{}) != nil, "it was begun")
	for _, id := range []string{"../x", "a/b", ""} {
		next := api.Next{Experiment: id, Bundle: n.Bundle, Count: 1}
		err := a.begin(t.Context(), h.machines["lab1"], next, joined.Hub{})
		must.Refuse(t, err, "not valid", id)
	}
}
