package watch_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"database/sql"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/jobs"
	"krund/internal/hub/store"
	"krund/internal/hub/watch"
	"krund/internal/hub/watch/watchtest"
	"krund/rig/must"
)

// bench is a watcher of a repository with a clock, and a forge.
type bench struct {
	*watch.Watcher
	t    *testing.T
	repo watchtest.Repo
	now  time.Time
}

func newBench(t *testing.T, at string, repo watchtest.Repo, text string) *bench {
	t.Helper()
	b := &bench{t: t, repo: repo, now: time.Date(2026, 11, 28, 1, 0, 0, 0, time.UTC)}
	db := must.Get(database.Open(t.Context(), at, func() time.Time { return b.now }))(t)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	blobs := must.Get(store.OpenDirectory(durable.OS(), filepath.Join(t.TempDir(), "blobs")))(t)
	c := must.Get(jobs.ParseConfig(text))(t)
	b.Watcher = &watch.Watcher{DB: db, Store: blobs, Log: slog.New(slog.DiscardHandler),
		Schedules: c.Schedules,
		Dir:       filepath.Join(t.TempDir(), "watch"), HTTP: &http.Client{}}
	must.Do(t, os.Mkdir(b.Dir, 0o700))
	b.update(func(tx *sql.Tx) error {
		_, _, err := db.Join(t.Context(), tx, "m1", "lab")
		return err
	})
	return b
}

func (b *bench) update(do func(*sql.Tx) error) {
	b.t.Helper()
	must.Do(b.t, b.DB.Update(b.t.Context(), do))
}

// step looks at the repository, does what is next until nothing is left, and tells it.
func (b *bench) step() {
	b.t.Helper()
	b.now = b.now.Add(2 * time.Minute)
	for did := true; did; {
		did = must.Get(b.Step(b.t.Context(), b.Schedules[0]))(b.t)
	}
	for did := true; did; {
		did = must.Get(b.Tell(b.t.Context()))(b.t)
	}
}

// measured ends the experiment of the newest run with a comparison.
func (b *bench) measured(verdict string, p float64) {
	b.t.Helper()
	var r database.Run
	for _, one := range must.Get(b.DB.OpenRuns(b.t.Context(), "vm"))(b.t) {
		if one.State == database.RunMeasuring {
			r = one
		}
	}
	x := must.Get(b.DB.Experiment(b.t.Context(), r.ID))(b.t)
	x.State = database.Done
	b.update(func(tx *sql.Tx) error { return b.DB.SetState(b.t.Context(), tx, x) })
	x = must.Get(b.DB.Experiment(b.t.Context(), r.ID))(b.t)
	b.update(func(tx *sql.Tx) error {
		if err := b.DB.PutPoints(b.t.Context(), tx, x, nil, ""); err != nil {
			return err
		}
		return b.DB.PutAnswer(b.t.Context(), tx, x.ID, database.Answer{Text: "new is `x` @all " + verdict,
			Comparison: fmt.Sprintf(`{"changes":[{"key":"json:Python:default","verdict":%q,
				"steady":{"p_corrected":%g}}]}`, verdict, p)})
	})
	b.step()
}

// runs are the verdicts of all runs, the oldest first.
func (b *bench) runs() string {
	b.t.Helper()
	var list []string
	for _, r := range must.Get(b.DB.Runs(b.t.Context(), "", 0, 100))(b.t) {
		list = append([]string{r.State + " " + r.Verdict}, list...)
	}
	return strings.ReplaceAll(strings.Join(list, ", "), "ended ", "")
}

// TestGitHub: each commit is compared with the one that was measured before it, and what it shows
// is a check. One fails only if chance is out of the question. A build that fails is not blamed on
// the program. Who may write asks for a run of a change by a comment; nothing of a fork runs unless
// such a person names the revision.
func TestGitHub(t *testing.T) { dbtest.OnEach(t, testGitHub) }

func testGitHub(t *testing.T, at string) {
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	dir := t.TempDir()
	must.Do(t, os.WriteFile(dir+"/key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
		Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	must.Do(t, os.WriteFile(dir+"/secret", []byte("It's a Secret\n"), 0o600))
	forge := &watchtest.GitHub{Project: "example/vm", Key: &key.PublicKey, Writers: []string{"anna"},
		Pulls: map[int64][2]string{}}
	web := httptest.NewServer(forge)
	defer web.Close()
	repo := watchtest.NewRepo(t)
	first := repo.Commit(t, "main", "1")
	b := newBench(t, at, repo, repo.TOML("commit", "catch up", fmt.Sprintf("forge = \"github\"\napi = %q\n"+
		"project = \"example/vm\"\ntoken_file = %q\napp = 7\ninstallation = 8\nwebhook_secret_file = %q\n"+
		"hub = \"https://hub.example\"", web.URL, dir+"/key", dir+"/secret")))
	b.step()
	must.Equal(t, b.runs(), "first")
	second := repo.Commit(t, "main", "2")
	repo.Commit(t, "main", "3", "broken")
	must.Do(t, os.Remove(filepath.Join(repo.Dir, "broken")))
	repo.Commit(t, "main", "4")
	b.step()
	must.Equal(t, b.runs(), "first, measuring , waiting , waiting ")
	begun, _ := forge.State()
	must.Be(t, len(begun) == 1 && begun[0].Status == "in_progress" && begun[0].Head == second, begun)
	b.measured("worse", 0.0009)
	b.measured("worse", 0.02)
	must.Equal(t, b.runs(), "first, worse, failed, unclear")
	runs := must.Get(b.DB.Runs(t.Context(), "vm", 0, 9))(t)
	must.Be(t, runs[2].Base == first && runs[0].Base == second && strings.Contains(runs[1].Text,
		"exit status 1"),
		runs)
	repo.Commit(t, "main", "4") // an empty one
	b.step()
	must.Equal(t, b.runs(), "first, worse, failed, unclear, same")

	change := repo.Commit(t, "topic", "5")
	for n, from := range map[int64]string{1: "example/vm", 2: "mallory/vm"} {
		forge.Pulls[n] = [2]string{change, from}
		repo.Ref(t, fmt.Sprintf("refs/pull/%d/head", n), change)
	}
	comment := func(id, pull int64, who, text string) error {
		body := fmt.Appendf(nil, `{"action": "created", "issue": {"number": %d, "pull_request": {}},
			"comment": {"id": %d, "body": %q, "user": {"login": %q}}, "repository": {"full_name": "Example/VM"}}`,
			pull, id, text, who)
		sum := hmac.New(sha256.New, []byte("It's a Secret"))
		_, _ = sum.Write(body)
		return b.Hook(t.Context(), "vm", http.Header{"X-Github-Event": {"issue_comment"},
			"X-Hub-Signature-256": {watchtest.Sign(sum.Sum(nil))}}, body)
	}
	for i, c := range []struct {
		pull int64
		who  string
		text string
		want string
	}{
		{1, "anna", "please do not /krund run", ""}, // no command
		{1, "mallory", "/krund run", ", refused"},
		{2, "mallory", "/krund run " + change, ", refused"},
		{2, "anna", "/krund run", ", failed"},
		{2, "anna", "/krund run " + first, ", failed"},
		{9, "anna", "/krund run", ", refused"}, // there is none
		{1, "anna", "/krund run", ", measuring "},
	} {
		before := b.runs()
		for range 2 { // a message may come again
			must.Do(t, comment(int64(100+i), c.pull, c.who, c.text))
			b.step()
		}
		must.Equal(t, b.runs(), before+c.want, c.who, c.text)
	}
	b.measured("better", 0.0001)
	must.Do(t, comment(200, 2, "anna", "/krund run "+change+"\n"))
	b.step()
	b.measured("same", 0.9)
	checks, texts := forge.State()
	var list []string
	for _, c := range checks {
		list = append(list, fmt.Sprint(c.Conclusion, " ", c.Output.Title, " ", c.Changed))
	}
	must.Equal(t, strings.Join(list, ", "), "failure slower 1, neutral not measured 0, "+
		"neutral no certain answer 1, success as fast as before 0, success faster 1, "+
		"success as fast as before 1")
	must.Be(t, strings.Contains(checks[0].Output.Summary,
		"`new is 'x' @all worse`\n\nOf identical programs, at most "+
			"one comparison in 1000"), checks[0].Output.Summary)
	must.Be(t, len(texts["/commits/"+second+"/comments"]) == 1 && len(texts["/issues/1/comments"]) == 1 &&
		len(texts["/issues/2/comments"]) == 3 && len(texts) == 3, texts)

	must.Be(t, b.Hook(t.Context(), "vm", http.Header{"X-Hub-Signature-256": {"sha256="}}, nil) ==
		watch.ErrSignature, "an unsigned message")
	must.Be(t, b.Hook(t.Context(), "other", nil, nil) == watch.ErrSignature, "no schedule")
}

// TestGitLab: the same with commit statuses and notes; messages are signed as standard webhooks.
func TestGitLab(t *testing.T) {
	dir := t.TempDir()
	signing := []byte("12345678901234567890123456789012")
	must.Do(t, os.WriteFile(dir+"/token", []byte("glpat-1"), 0o600))
	must.Do(t, os.WriteFile(dir+"/secret", []byte("whsec_"+base64.StdEncoding.EncodeToString(signing)),
		0o600))
	forge := &watchtest.GitLab{Project: "group/sub/vm", Token: "glpat-1",
		Requests: map[int64]watchtest.Request{},
		Levels:   map[string]int{"anna": 30, "anna2": 50, "guest": 10}}
	web := httptest.NewServer(forge)
	defer web.Close()
	repo := watchtest.NewRepo(t)
	repo.Commit(t, "main", "1")
	b := newBench(t, dbtest.SQLite(t), repo, repo.TOML("commit", "skip", fmt.Sprintf("forge = \"gitlab\"\n"+
		"api = %q\nproject = \"group/sub/vm\"\ntoken_file = %q\nwebhook_secret_file = %q", web.URL,
		dir+"/token",
		dir+"/secret")))
	b.step()
	repo.Commit(t, "main", "2")
	third := repo.Commit(t, "main", "3")
	b.step()
	b.measured("worse", 1e-6)
	must.Equal(t, b.runs(), "first, skipped, worse")
	change := repo.Commit(t, "topic", "4")
	forge.Requests[5] = watchtest.Request{SHA: change, Source: 1}
	repo.Ref(t, "refs/merge-requests/5/head", change)
	note := func(who string, at time.Time) error {
		body := fmt.Appendf(nil, `{"object_kind": "note", "user": {"username": %q}, "merge_request": {"iid": 5},
			"project": {"path_with_namespace": "group/sub/vm"}, "object_attributes": {"id": %d,
			"note": "/krund run", "noteable_type": "MergeRequest", "action": "create"}}`, who, at.Unix())
		sum := hmac.New(sha256.New, signing)
		_, _ = fmt.Fprintf(sum, "id.%d.%s", at.Unix(), body)
		return b.Hook(t.Context(), "vm", http.Header{"X-Gitlab-Event": {"Note Hook"}, "Webhook-Id": {"id"},
			"Webhook-Timestamp": {fmt.Sprint(at.Unix())},
			"Webhook-Signature": {"v1,AAAA v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))}}, body)
	}
	must.Be(t, note("anna", b.now.Add(-time.Hour)) == watch.ErrSignature, "an old message")
	must.Do(t, note("guest", b.now.Add(time.Second)))
	must.Do(t, note("anna", b.now))
	b.step()
	b.measured("same", 1)
	must.Equal(t, b.runs(), "first, skipped, worse, refused, same")
	var list []string
	for _, s := range forge.Statuses {
		list = append(list, s.Status)
		must.Be(t, s.SHA == third || s.SHA == change, s)
	}
	must.Equal(t, strings.Join(list, " "), "running failed running success")
	must.Be(t, len(forge.Texts["/repository/commits/"+third+"/comments"]) == 1 &&
		len(forge.Texts["/merge_requests/5/notes"]) == 1, forge.Texts)
}

// TestNights: a night begins a run of what the branch has then, also if that was measured before.
// One that was missed is skipped, or caught up once.
func TestNights(t *testing.T) {
	for missed, want := range map[string]string{"skip": "first, same",
		"catch up": "first, same, measuring "} {
		repo := watchtest.NewRepo(t)
		repo.Commit(t, "main", "1")
		b := newBench(t, dbtest.SQLite(t), repo, repo.TOML("02:30", missed, ""))
		b.step() // at 01:02: the schedule begins
		must.Equal(t, b.runs(), "")
		b.now = time.Date(2026, 11, 28, 2, 30, 0, 0, time.UTC)
		b.step()
		must.Equal(t, b.runs(), "first")
		b.now = b.now.Add(24 * time.Hour)
		b.step()
		b.measured("cannot tell", 0.5)
		must.Equal(t, b.runs(), "first, same")
		b.now = b.now.Add(3*24*time.Hour + 2*time.Hour) // the hub was off
		b.step()
		must.Equal(t, b.runs(), want, missed)
	}
}

// TestRedirected: no token goes where a forge does not live.
func TestRedirected(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Error("asked elsewhere", r.Header)
	}))
	defer elsewhere.Close()
	web := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	token := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(token, []byte("glpat-1"), 0o600))
	repo := watchtest.NewRepo(t)
	repo.Commit(t, "main", "1")
	b := newBench(t, dbtest.SQLite(t), repo, repo.TOML("commit", "skip", fmt.Sprintf("forge = \"gitlab\"\n"+
		"api = %q\nproject = \"a/b\"\ntoken_file = %q", web.URL, token)))
	b.step()
	repo.Commit(t, "main", "2")
	b.step()
	must.Equal(t, b.runs(), "first, measuring ")
}

// TestHugeAndSilentForge: a forge whose answers have no end, or do not begin before the hub is
// killed, costs bounded memory, and gets each answer once in the end.
func TestHugeAndSilentForge(t *testing.T) {
	signing := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(signing, []byte("glpat-1"), 0o600))
	forge := &watchtest.GitLab{Project: "a/b", Token: "glpat-1", Requests: map[int64]watchtest.Request{}}
	killed, kill := context.WithCancel(t.Context())
	var requests, sent atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1: // it ends when nobody reads any more
			for line := []byte(strings.Repeat(" ", 1<<20)); sent.Load() < 1<<30; sent.Add(int64(len(line))) {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		case 2:
			kill()
			<-r.Context().Done()
		default:
			forge.ServeHTTP(w, r)
		}
	}))
	defer web.Close()
	repo := watchtest.NewRepo(t)
	repo.Commit(t, "main", "1")
	b := newBench(t, dbtest.SQLite(t), repo, repo.TOML("commit", "skip", fmt.Sprintf("forge = \"gitlab\"\n"+
		"api = %q\nproject = \"a/b\"\ntoken_file = %q", web.URL, signing)))
	b.step()
	repo.Commit(t, "main", "2")
	b.step()
	must.Be(t, requests.Load() == 1 && sent.Load() < 64<<20, requests.Load(), "requests;", sent.Load(),
		"bytes")
	b.now = b.now.Add(time.Hour)
	_, err := b.Tell(killed)
	must.Fail(t, err, context.Canceled)
	for range 3 {
		b.now = b.now.Add(2 * time.Hour)
		b.step()
	}
	b.measured("same", 1)
	var list []string
	for _, s := range forge.Statuses {
		list = append(list, s.Status)
	}
	must.Equal(t, strings.Join(list, " "), "running success")
}

// TestHostileBuild: what a build leaves behind leads nowhere else.
func TestHostileBuild(t *testing.T) {
	for name, script := range map[string]string{
		"a link out of it":  "ln -s /etc/hostname \"$3/x\"",
		"a link to nothing": "ln -s nothing \"$3/x\"",
		"a pipe":            "mkfifo \"$3/x\"",
		"a deep tree":       "d=$3/$(printf 'd/%.0s' $(seq 600)); mkdir -p \"$d\"; touch \"$d/x\"",
		"nothing":           "true",
		"a failure":         "echo '\x1b[2J`' >&2; exit 3",
	} {
		repo := watchtest.NewRepo(t)
		repo.Commit(t, "main", "1")
		must.Do(t, os.WriteFile(repo.Build, []byte("#!/bin/sh\nset -e\n"+script+"\n"), 0o755))
		b := newBench(t, dbtest.SQLite(t), repo, repo.TOML("commit", "skip", ""))
		b.step()
		r := must.Get(b.DB.Runs(t.Context(), "", 0, 9))(t)
		must.Be(t, len(r) == 1 && r[0].Verdict == watch.Failed && !strings.Contains(r[0].Text, "\x1b"), name, r)
	}
}

// TestBuildOnMachine: the machine that measures gets the sources of both revisions with the command,
// and why a build failed there is in the answer. A source that leads elsewhere is not measured.
func TestBuildOnMachine(t *testing.T) {
	repo := watchtest.NewRepo(t)
	repo.Commit(t, "main", "1")
	text := strings.Replace(repo.TOML("commit", "skip", ""), repo.Build+`"`, `make", "{revision}"`, 1)
	b := newBench(t, dbtest.SQLite(t), repo, strings.Replace(text, "build =", "build_on = \"machine\"\nbuild =", 1))
	b.step()
	must.Do(t, os.Symlink("json/bench.py", filepath.Join(repo.Dir, "link")))
	second := repo.Commit(t, "main", "2")
	b.step()
	must.Equal(t, b.runs(), "first, measuring ")
	r := must.Get(b.DB.Runs(t.Context(), "", 0, 9))(t)[0]
	x := must.Get(b.DB.Experiment(t.Context(), r.ID))(t)
	content := must.Get(b.Store.Get(t.Context(), x.Bundle))(t)
	defer content.Close()
	files := map[string]string{}
	m := must.Get(bundle.Read(content, func(_ *bundle.Manifest, f bundle.File, r io.Reader) error {
		text, err := io.ReadAll(r)
		files[f.Path] = string(text)
		return err
	}))(t)
	must.Be(t, len(files) == 4 && files["builds/base/json/bench.py"] == "1" &&
		files["builds/new/json/bench.py"] == "2" && files["builds/new/link"] == "2", files)
	must.Be(t, len(m.Builds) == 2 && m.Builds[1].Directory == "builds/new" && m.Builds[1].Seconds == 3600 &&
		strings.HasPrefix(strings.Join(m.Builds[1].Command, " "), "make "+second+" "), m.Builds)
	machine := must.Get(b.DB.Machine(t.Context(), "m1"))(t)
	x.State = database.Failed
	b.update(func(tx *sql.Tx) error {
		return errors.Join(b.DB.SetState(t.Context(), tx, x), b.DB.PutShare(t.Context(), tx, database.Share{
			Experiment: x.ID, Machine: machine.ID, Count: 1, State: database.Failed,
			Status: `{"reason": "build builds/new: make: *** [all] Error 1"}`}))
	})
	b.step()
	r = must.Get(b.DB.Runs(t.Context(), "", 0, 9))(t)[0]
	must.Be(t, r.Verdict == watch.Failed && strings.HasSuffix(r.Text, "builds/new: make: *** [all] Error 1"), r)
	for target, want := range map[string]string{"/etc/hostname": "path escapes", "json": "no regular file",
		"nothing": "no such file"} {
		link := filepath.Join(repo.Dir, "link")
		must.Do(t, errors.Join(os.Remove(link), os.Symlink(target, link)))
		repo.Commit(t, "main", "3")
		b.step()
		r = must.Get(b.DB.Runs(t.Context(), "", 0, 9))(t)[0]
		must.Be(t, r.Verdict == watch.Failed && strings.Contains(r.Text, want), want, r)
	}
}

func FuzzHook(f *testing.F) {
	f.Add([]byte(`{"action": "created", "issue": {"number": 1, "pull_request": {}}}`), "/krund run")
	f.Fuzz(func(t *testing.T, body []byte, _ string) {
		for _, forge := range []string{"github", "gitlab"} {
			c, ok := watch.CommandIn(watch.Answer{Forge: forge, Project: "a/b"}, http.Header{
				"X-Github-Event": {"issue_comment"}, "X-Gitlab-Event": {"Note Hook"}}, body)
			must.Be(t, !ok || bytes.Contains(body, []byte("krund")), forge, c)
		}
	})
}
