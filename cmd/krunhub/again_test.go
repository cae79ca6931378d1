package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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

	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/watch/watchtest"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// events is raised by make hub-kill.
var events = flag.Int("events", 1, "that the program made, and as many that the machine made")

// TestAgainKilled: the hub measures events again before anyone is told, and is killed at random
// meanwhile. Each true event has one notice, at most one of 20 false ones has any, and none is
// measured twice.
func TestAgainKilled(t *testing.T) {
	buildKrunctl(t)
	l := &lab{t: t, data: t.TempDir(), up: make(chan struct{}), left: *kills,
		rand: mathrand.New(mathrand.NewPCG(*seed, 0)), kill: make(chan struct{})}
	var mu sync.Mutex
	notices := map[string]int{} // by name
	people := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Experiment, Subject string }
		must.Do(t, json.NewDecoder(r.Body).Decode(&message))
		mu.Lock()
		defer mu.Unlock()
		notices[message.Experiment]++
		must.Contain(t, message.Subject, "measured again in blocks")
	}))
	defer people.Close()
	text, revisions := fmt.Sprintf("[notify]\nwebhook = %q\n", people.URL), map[string][]string{}
	for kind, level := range map[string]int{"true": 1, "false": 0} {
		repo := watchtest.NewRepo(t)
		for v := range againNights {
			revisions[kind] = append(revisions[kind], repo.Commit(t, "main",
				fmt.Sprintf("%d %d", level*min(v/againFrom, 1), v)))
		}
		for i := range *events {
			name := fmt.Sprintf("name = \"%s-%d\"\nagain = %q", kind, i, repo.Again)
			text += strings.Replace(repo.TOML("commit", "skip", ""), `name = "vm"`, name, 1)
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(l.data, "hub.toml"), []byte(text), 0o600))
	l.start()
	_, err := l.client(l.token).Join(t.Context(), api.JoinRequest{Name: "m1", Pool: "lab"})
	must.Do(t, err)
	_, _ = l.hub.Process.Kill(), l.hub.Wait()
	l.nights(revisions)
	l.up = make(chan struct{})
	l.start()

	done := make(chan struct{})
	var killer, works sync.WaitGroup
	killer.Go(func() { l.killer(done) })
	working, end := context.WithCancel(t.Context())
	works.Go(func() { must.Do(t, measures(working, l, t.TempDir())) })
	l.count.Store(1 + l.rand.Int64N(40))
	var list []database.Event
	must.Do(t, await(t, l, func() bool {
		list = l.events(t.Context())
		judged := 0
		for _, e := range list {
			judged += number(e.Again.Shown != "")
		}
		mu.Lock()
		defer mu.Unlock()
		return judged >= 2**events && len(notices) >= *events
	}))
	end()
	works.Wait()
	close(done)
	killer.Wait()
	_, _ = l.hub.Process.Kill(), l.hub.Wait()
	verdicts := map[string]int{}
	for _, e := range list {
		verdicts[strings.Split(e.Name, "-")[0]+" "+e.Verdict]++
	}
	db := must.Get(database.Open(t.Context(), filepath.Join(l.data, "hub.sqlite"),
		sysroot.RealClock{}.Now))(t)
	defer db.Close()
	told := map[string]int{} // notices by name: the queue delivers each at least once
	for _, name := range must.Get(stored(t.Context(), db))(t) {
		told[name]++
	}
	mu.Lock()
	defer mu.Unlock()
	twice := 0
	for name, n := range notices {
		twice += number(n > 1)
		must.Equal(t, told[name], 1, name)
	}
	measured := 0
	for _, x := range must.Get(db.Experiments(t.Context(), 1000))(t) {
		measured += number(strings.HasSuffix(x.Name, "-again"))
	}
	t.Logf("%d true and as many false events, %d kills: %d notices, %d delivered twice; %v; %d experiments",
		*events, *kills-l.left, len(told), twice, verdicts, measured)
	wrong := 0
	for name := range told {
		wrong += number(strings.HasPrefix(name, "false"))
	}
	must.Be(t, len(notices) == len(told) && wrong <= *events/20 && len(told)-wrong == *events, told,
		notices)
	must.Be(t, measured == 2**events && len(list) == 2**events, measured, list)
}

// stored returns the names of which notices are in the queue, or were.
func stored(ctx context.Context, db *database.DB) (names []string, err error) {
	rows, err := db.Read.QueryContext(ctx, `SELECT x.name FROM river_job j
		JOIN experiments x ON x.id = json_extract(j.args, '$.experiment') WHERE j.kind = 'notice'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		err = errors.Join(err, rows.Scan(&name))
		names = append(names, name)
	}
	return names, errors.Join(err, rows.Err())
}

const againNights, againFrom = 45, 30

// nights stores what a machine has measured before the hub looks at it: from a night on all is 5%
// slower.
func (l *lab) nights(revisions map[string][]string) {
	l.t.Helper()
	db := must.Get(database.Open(l.t.Context(), filepath.Join(l.data, "hub.sqlite"),
		sysroot.RealClock{}.Now))(l.t)
	defer db.Close()
	for _, kind := range []string{"false", "true"} {
		list := revisions[kind]
		for i := range *events * len(list) {
			v, name := i%len(list), fmt.Sprintf("%s-%d", kind, i/len(list))
			x := database.Experiment{ID: fmt.Sprintf("%s-x%d", name, v), Name: name, State: database.Done}
			p := database.Point{Version: list[v], Source: "revision", Order: int64(v), Machine: "m1",
				Unit: "s", Key: "json:Python:default"}
			night := 0.05*float64(min(v/againFrom, 1)) + 0.003*l.rand.NormFloat64()
			for range 5 {
				p.Values = append(p.Values, 0.001*math.Exp(night+0.003*l.rand.NormFloat64()))
			}
			must.Do(l.t, db.Update(l.t.Context(), func(tx *sql.Tx) error {
				return errors.Join(db.AddExperiment(l.t.Context(), tx, x),
					db.PutPoints(l.t.Context(), tx, x, []database.Point{p}, ""))
			}))
		}
	}
}

// events asks the hub for its events; none while it is not there.
func (l *lab) events(ctx context.Context) []database.Event {
	l.mu.Lock()
	address := l.address
	l.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/events", nil)
	must.Do(l.t, err)
	r.Header.Set("Authorization", "Bearer "+l.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var list struct{ Events []database.Event }
	if text, err := io.ReadAll(answer.Body); err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list.Events
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// buildKrunctl builds krunctl, which the hub runs.
func buildKrunctl(t *testing.T) {
	t.Helper()
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", programs,
		"krund/cmd/krunctl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the other builds: what they compiled serves
	out, err := build.CombinedOutput()
	must.Need(t, err == nil, string(out), err)
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
}
