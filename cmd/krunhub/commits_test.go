package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/ship"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
	"krund/internal/hub/watch/watchtest"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/rig/must"
)

// TestCommits: the hub measures commits of which two are 5% slower, and is killed at random
// meanwhile. Exactly those two checks fail; each commit has one experiment and one check, and each
// slow one has one comment. krunctl finds the verdicts in simulated records.
func TestCommits(t *testing.T) {
	buildKrunctl(t)
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	l := &lab{t: t, data: t.TempDir(), up: make(chan struct{}), left: *kills,
		rand: mathrand.New(mathrand.NewPCG(*seed, 0)), kill: make(chan struct{})}
	forge := &watchtest.GitHub{Project: "example/vm", Key: &key.PublicKey,
		Before: func(*http.Request) { l.event() }}
	web := httptest.NewServer(forge)
	defer web.Close()
	repo := watchtest.NewRepo(t)
	private := filepath.Join(t.TempDir(), "key")
	must.Do(t, os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
		Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(l.data, "hub.toml"), []byte(repo.TOML("commit", "catch up",
		fmt.Sprintf("forge = \"github\"\napi = %q\nproject = \"example/vm\"\ntoken_file = %q\napp = 7\n"+
			"installation = 8", web.URL, private))), 0o600))
	repo.Commit(t, "main", "0 0")
	slow := map[string]bool{}
	l.start()
	done := make(chan struct{})
	var killer, works sync.WaitGroup
	killer.Go(func() { l.killer(done) })
	working, end := context.WithCancel(t.Context())
	works.Go(func() { must.Do(t, measures(working, l, t.TempDir())) })
	first := func() bool { // the hub has seen the beginning before there is more
		out, err := exec.Command("git", "-C", filepath.Join(l.data, "watch", "vm.git"), "rev-parse",
			"watched").Output()
		return err == nil && len(out) > 0
	}
	must.Do(t, await(t, l, first))
	l.count.Store(1 + l.rand.Int64N(40))
	for i := range *commits {
		level := 0
		for _, at := range []int{*commits / 3, 2 * *commits / 3} {
			if i >= at {
				level++
			}
		}
		revision := repo.Commit(t, "main", fmt.Sprintf("%d %d", level, i+1))
		if i == *commits/3 || i == 2**commits/3 {
			slow[revision] = true
		}
	}
	must.Do(t, await(t, l, func() bool {
		ended := 0
		checks, texts := forge.State()
		for _, c := range checks {
			if c.Status == "completed" {
				ended++
			}
		}
		return ended >= *commits && len(texts) >= len(slow)
	}))
	end()
	works.Wait()
	close(done)
	killer.Wait()
	_ = l.hub.Process.Kill()
	_ = l.hub.Wait()

	conclusions, of := map[string]int{}, map[string]int{}
	checks, texts := forge.State()
	for _, c := range checks {
		conclusions[c.Conclusion]++
		of[c.Head]++
		must.Be(t, slow[c.Head] == (c.Conclusion == "failure"), c, "is slow", slow[c.Head])
	}
	must.Be(t, len(checks) == *commits && len(of) == *commits, len(checks), "checks of", len(of), "commits")
	must.Equal(t, conclusions["failure"], len(slow), conclusions)
	told := 0
	for thread, list := range texts {
		must.Be(t, slow[strings.Split(thread, "/")[2]], "a comment on", thread)
		told += len(list)
	}
	must.Equal(t, told, len(slow), texts)
	db := must.Get(database.Open(t.Context(), filepath.Join(l.data, "hub.sqlite"),
		sysroot.RealClock{}.Now))(t)
	defer db.Close()
	runs := must.Get(db.Runs(t.Context(), "vm", 0, 1000))(t)
	experiments := must.Get(db.Experiments(t.Context(), 1000))(t)
	verdicts := map[string]int{}
	for _, r := range runs {
		verdicts[r.State+" "+r.Verdict]++
	}
	must.Be(t, len(runs) == *commits+1 && len(experiments) == *commits &&
		verdicts["ended "+watch.First] == 1 &&
		verdicts["ended "+watch.Worse] == len(slow) && verdicts["ended "+watch.Failed] == 0, verdicts, "of",
		len(experiments), "experiments")
	t.Logf("%d commits, %d kills: %v, checks: %v, comments: %d", *commits, *kills-l.left, verdicts,
		conclusions, told)
}

// await waits until something holds, and moves the countdown to the next kill.
func await(t *testing.T, l *lab, holds func() bool) error {
	const patience, interval = 15 * time.Minute, 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !holds() {
		if err := (sysroot.RealClock{}).Sleep(ctx, interval); err != nil {
			return err
		}
		l.event()
	}
	return nil
}

// measures is a machine that measures by simulation what the hub gives to it, until ctx ends.
func measures(ctx context.Context, l *lab, dir string) error {
	var joined api.JoinAnswer
	err := ship.Try(ctx, l, func(ctx context.Context) (err error) {
		joined, err = l.client(l.token).Join(ctx, api.JoinRequest{Name: "m1", Pool: "lab", Replace: true})
		return err
	})
	client := l.client(joined.Token)
	for err == nil && ctx.Err() == nil {
		err = ship.Try(ctx, l, func(ctx context.Context) error {
			answer, err := client.Ship(ctx, api.Ship{Status: api.Status{BootID: "b", Host: "m1"}}, nil)
			if err != nil || answer.Orders.Next == nil {
				_ = sysroot.RealClock{}.Sleep(ctx, 50*time.Millisecond)
				return err
			}
			place, err := os.MkdirTemp(dir, "")
			if err != nil {
				return err
			}
			return simulated(ctx, client, filepath.Join(place, "x"), *answer.Orders.Next)
		})
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// simulated ships the records of an experiment. A program is a text "LEVEL NUMBER": each level is
// 5% slower; executions have a standard deviation of 0.3%.
func simulated(ctx context.Context, client *api.Client, dir string, next api.Next) error {
	const iterations, usual, sd, between, step = 20, 1e6, 0.003, 4e6, 0.05
	content, err := client.Blob(ctx, next.Bundle)
	if err != nil {
		return err
	}
	m, err := bundle.Unpack(content, dir, func(text []byte) ([]byte, error) { return text, nil }, nil)
	_ = content.Close()
	var cfg *config.Config
	if err == nil {
		cfg, err = experiment.ParseConfig(durable.OS(), filepath.Join(dir, filepath.FromSlash(m.Config)),
			"m1")
	}
	if err != nil {
		return err
	}
	s := api.Ship{Status: api.Status{BootID: "b", Host: "m1"}, Experiment: &api.ShippedExperiment{
		ID: next.Experiment, Name: next.Name, ConfigHash: cfg.Hash, Progress: api.Progress{Ended: true}}}
	contents := map[string][]byte{}
	add := func(e api.Entry, text []byte) {
		e.Hash, e.Size = store.Hash(text), int64(len(text))
		s.Entries, contents[e.Hash] = append(s.Entries, e), text
	}
	add(api.Entry{Name: "config.toml"}, []byte(cfg.Text))
	for number := 1; number <= cfg.Experiment.Executions; number++ {
		for _, k := range cfg.Keys() {
			build := k.Arm
			if build == "again" { // a copy of the base
				build = "base"
			}
			program, err := os.ReadFile(filepath.Join(filepath.Dir(cfg.Path), "builds", build, "json",
				"bench.py"))
			if err != nil {
				return err
			}
			var level, commit int
			_, err = fmt.Sscan(string(program), &level, &commit)
			if err != nil {
				return err
			}
			hash := fnv.New64a()
			_, _ = fmt.Fprint(hash, string(program), k, number, strings.TrimPrefix(next.Name, "vm"))
			random := mathrand.New(mathrand.NewPCG(hash.Sum64(), 1))
			slot := len(s.Entries) - 1
			r := results.Record{Key: k, Experiment: next.Name, ConfigHash: cfg.Hash, Host: "m1", Slot: slot,
				Attempt: 1,
				Pexec:   number, Outcome: results.Completed, Reasons: []string{}, Reboot: results.RebootNone,
				Clock: "CLOCK_MONOTONIC_RAW", Iterations: iterations}
			mean := usual * math.Pow(1+step, float64(level)) * math.Exp(sd*random.NormFloat64())
			for i := range int64(iterations) {
				r.StartNS = append(r.StartNS, i*between)
				r.WallNS = append(r.WallNS, int64(mean*math.Exp(sd*random.NormFloat64())))
			}
			if err := results.NewAppender(durable.OS(), dir).Append(r); err != nil {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, results.Name{Slot: slot, Attempt: 1}.String()))
			if err != nil {
				return err
			}
			add(api.Entry{Slot: slot, Attempt: 1}, text)
		}
	}
	s.Experiment.Progress.Slots = len(s.Entries) - 1
	s.Experiment.Progress.Completed = len(s.Entries) - 1
	_, err = client.Ship(ctx, s, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(contents[e.Hash])), nil
	})
	return err
}
