package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/jobs"
	"krund/internal/hub/pages"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// TestNights: the hub tells on its first page that the nights of the demonstration have a change of
// the program, on all machines, and one of a machine, and nothing else.
func TestNights(t *testing.T) {
	dir := t.TempDir()
	krunctl := filepath.Join(dir, "krunctl")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", krunctl, "krund/cmd/krunctl").
		CombinedOutput()
	must.Need(t, err == nil, string(out), err)
	hub := hubtest.At(t, dbtest.SQLite(t), time.Now, func(s *server.Server) {
		s.Pages = pages.New(t.Context(), pages.Options{DB: s.DB, Store: s.Store, Log: s.Log, Dir: t.TempDir(),
			Krunctl: krunctl})
	})
	join := hub.Client(t, "", access.Join)
	var clients []*api.Client
	for i := range machines {
		answer := must.Get(join.Join(t.Context(), api.JoinRequest{Name: nameOf(i), Pool: pool}))(t)
		clients = append(clients, &api.Client{URL: hub.URL, Token: answer.Token})
	}
	must.Do(t, submitNights(t.Context(), hub.Client(t, "ann", access.User), filepath.Join(dir, "nights")))
	slow := ""                       // the experiment with the first slow revision
	for i, client := range clients { // in this order, so that each run has the same values
		for night := range nights {
			next := must.Get(client.Ship(t.Context(), api.Ship{}, nil))(t).Orders.Next
			must.Need(t, next != nil && next.Name == nightly, "machine", i, "night", night, next)
			if night == slower/2 {
				slow = next.Experiment
			}
			at := filepath.Join(dir, nameOf(i)+"-"+next.Experiment)
			must.Do(t, measureNight(t.Context(), client, nameOf(i), at, *next))
		}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	work := must.Get(jobs.Open(t.Context(), hub.DB, jobs.Config{Store: hub.Store, Histories: &jobs.Histories{
		DB: hub.DB, Krunctl: krunctl, Log: log, Cache: &rebuild.Cache{DB: hub.DB, Store: hub.Store,
			FS: durable.OS(), Dir: filepath.Join(dir, "reducing")}}}, log))(t)
	must.Do(t, work.Start(t.Context()))
	reader := hub.Client(t, "eve", access.Reader)
	events, err := awaitEvents(t.Context(), reader)
	must.Do(t, err)
	must.Do(t, work.Stop(t.Context()))
	found := map[string]int{}
	for _, e := range events {
		found[e.Verdict+" with "+e.Version]++
		must.Be(t, 2*e.Changed > e.Of && (e.Verdict == "program" || e.Machine == culprit), e)
	}
	want := map[string]int{"program with " + revision(slower): machines,
		"machine with " + revision(heated): 1}
	must.Equal(t, fmt.Sprint(found), fmt.Sprint(want))
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, hub.URL+"/", nil))(t)
	r.Header.Set("Authorization", "Bearer "+reader.Token)
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	page := string(must.Get(io.ReadAll(response.Body))(t))
	must.Contain(t, page, "1 change of a machine, 1 change of a program; nothing runs; "+
		"machines and experiments are well")
	must.Contain(t, page, "it is this machine or its build")
	must.Equal(t, strings.Count(page, `href="/events/`), len(events))
	must.Equal(t, strings.Count(page, `<li><span class="badge`), 2) // each event once
	screens(t, hub.URL, reader.Token, slow, events)
}
