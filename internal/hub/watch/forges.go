package watch

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"krund/internal/display"
	"krund/internal/hub/database"
)

// github answers by GitHub's REST API, version 2022-11-28.
type github struct{ client }

// repo is the path of the repository.
func (g github) repo() string { return "/repos/" + g.of.Answer.Project }

type checkRun struct {
	ID         int64        `json:"id,omitempty"`
	Name       string       `json:"name"`
	Head       string       `json:"head_sha,omitempty"`
	External   string       `json:"external_id"`
	Link       string       `json:"details_url,omitempty"`
	Status     string       `json:"status"`
	Conclusion string       `json:"conclusion,omitempty"`
	Output     *checkOutput `json:"output,omitempty"`
}

type checkOutput struct {
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

func (g github) check(ctx context.Context, r database.Run) error {
	run := checkRun{Name: g.of.checkName(), Head: r.Revision, External: r.ID, Link: g.of.link(r),
		Status: "in_progress", Output: &checkOutput{headline(r), g.of.summary(r)}}
	if r.State == database.RunEnded {
		run.Status, run.Conclusion = "completed", map[string]string{Worse: "failure", Better: "success",
			Same: "success", Unclear: "neutral", Failed: "neutral"}[r.Verdict]
	}
	type part struct {
		Runs []checkRun `json:"check_runs"`
	}
	var there *checkRun
	err := pages(ctx, g.client, g.repo()+"/commits/"+r.Revision+"/check-runs?filter=all&check_name="+
		url.QueryEscape(run.Name), func(list part) int {
		for _, one := range list.Runs {
			if one.External == r.ID {
				there = &one
			}
		}
		return len(list.Runs)
	})
	switch {
	case err != nil:
		return err
	case there == nil:
		return g.do(ctx, http.MethodPost, g.repo()+"/check-runs", run, nil)
	case there.Status == run.Status || there.Status == "completed":
		return nil
	}
	run.Head = "" // it cannot be changed
	return g.do(ctx, http.MethodPatch, fmt.Sprintf("%s/check-runs/%d", g.repo(), there.ID), run, nil)
}

func (g github) thread(r database.Run) (path, query, field string) {
	if r.Change > 0 {
		since := r.Created.UTC().Add(-time.Hour).Format(time.RFC3339)
		return fmt.Sprintf("%s/issues/%d/comments", g.repo(), r.Change), "?since=" + url.QueryEscape(since),
			"body"
	}
	return g.repo() + "/commits/" + r.Revision + "/comments", "", "body"
}

func (g github) change(ctx context.Context, number int64) (revision, branch string, fork bool, err error) {
	type end struct {
		Ref, SHA string
		Repo     *struct {
			Name string `json:"full_name"`
		}
	}
	var pull struct{ Head, Base end }
	err = g.do(ctx, http.MethodGet, fmt.Sprintf("%s/pulls/%d", g.repo(), number), nil, &pull)
	own := pull.Head.Repo != nil && strings.EqualFold(pull.Head.Repo.Name, g.of.Answer.Project)
	return pull.Head.SHA, pull.Base.Ref, !own, err
}

func (g github) mayWrite(ctx context.Context, who string) (bool, error) {
	var answer struct{ Permission string }
	err := g.do(ctx, http.MethodGet, g.repo()+"/collaborators/"+url.PathEscape(who)+"/permission", nil,
		&answer)
	var failed forgeError
	if errors.As(err, &failed) && failed.status == http.StatusNotFound {
		return false, nil
	}
	return answer.Permission == "admin" || answer.Permission == "write", err
}

// tokens are those of installations of GitHub Apps.
type tokens struct {
	mu    sync.Mutex
	known map[int64]installed
}

type installed struct {
	Token string    `json:"token"`
	Until time.Time `json:"expires_at"`
}

// of returns a token of an installation, for which it exchanges one that is signed with the App's
// private key.
func (t *tokens) of(ctx context.Context, c client, key string, now time.Time) (string, error) {
	const left = 5 * time.Minute
	t.mu.Lock()
	defer t.mu.Unlock()
	a := c.of.Answer
	if known := t.known[a.Install]; known.Until.Sub(now) > left {
		return known.Token, nil
	}
	signed, err := appToken(key, a.App, now)
	if err != nil {
		return "", fmt.Errorf("%s: %w", a.Token, err)
	}
	c.header = c.header.Clone()
	c.header.Set("Authorization", "Bearer "+signed)
	var answer installed
	err = c.do(ctx, http.MethodPost, fmt.Sprintf("/app/installations/%d/access_tokens", a.Install), nil,
		&answer)
	if err == nil {
		if t.known == nil {
			t.known = map[int64]installed{}
		}
		t.known[a.Install] = answer
	}
	return answer.Token, err
}

// appToken returns a JSON Web Token of a GitHub App, valid for some minutes.
func appToken(key string, app int64, now time.Time) (string, error) {
	const early, long = time.Minute, 8 * time.Minute
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return "", errors.New("it has no private key: download the App's")
	}
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		other, failed := x509.ParsePKCS8PrivateKey(block.Bytes)
		var ok bool
		if private, ok = other.(*rsa.PrivateKey); failed != nil || !ok {
			return "", err
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: private}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(jwt.Claims{Issuer: fmt.Sprint(app),
		IssuedAt: jwt.NewNumericDate(now.Add(-early)), Expiry: jwt.NewNumericDate(now.Add(long))}).Serialize()
}

// gitlab answers by GitLab's REST API, version 4.
type gitlab struct{ client }

// project is the path of the project.
func (g gitlab) project() string { return "/projects/" + url.PathEscape(g.of.Answer.Project) }

func (g gitlab) check(ctx context.Context, r database.Run) error {
	const most = 200 // of 255 characters of a description
	type status struct {
		Status      string `json:"status,omitempty"` // as it is read
		State       string `json:"state,omitempty"`  // as it is written
		Name        string `json:"name"`
		Description string `json:"description"`
		Link        string `json:"target_url,omitempty"`
	}
	wanted := status{State: "running", Name: g.of.checkName(), Link: g.of.link(r),
		Description: display.Clip(headline(r)+": "+r.Text, most) + " [" + r.ID + "]"}
	if r.State == database.RunEnded {
		wanted.State = map[string]string{Worse: "failed", Better: "success", Same: "success",
			Unclear: "success", Failed: "canceled"}[r.Verdict]
	}
	told := false
	err := pages(ctx, g.client, g.project()+"/repository/commits/"+r.Revision+"/statuses?all=true&name="+
		url.QueryEscape(wanted.Name), func(list []status) int {
		for _, s := range list {
			told = told || s.Description == wanted.Description && s.Status == wanted.State
		}
		return len(list)
	})
	if err != nil || told {
		return err
	}
	return g.do(ctx, http.MethodPost, g.project()+"/statuses/"+r.Revision, wanted, nil)
}

func (g gitlab) thread(r database.Run) (path, query, field string) {
	if r.Change > 0 {
		return fmt.Sprintf("%s/merge_requests/%d/notes", g.project(), r.Change),
			"?sort=asc&order_by=created_at", "body"
	}
	return g.project() + "/repository/commits/" + r.Revision + "/comments", "", "note"
}

func (g gitlab) change(ctx context.Context, number int64) (revision, branch string, fork bool, err error) {
	var m struct {
		SHA    string
		Branch string `json:"target_branch"`
		Source int64  `json:"source_project_id"`
		Target int64  `json:"target_project_id"`
	}
	err = g.do(ctx, http.MethodGet, fmt.Sprintf("%s/merge_requests/%d", g.project(), number), nil, &m)
	return m.SHA, m.Branch, m.Source != m.Target, err
}

func (g gitlab) mayWrite(ctx context.Context, who string) (may bool, err error) {
	const developer = 30
	type member struct {
		Name  string `json:"username"`
		State string
		Level int `json:"access_level"`
	}
	path := g.project() + "/members/all?query=" + url.QueryEscape(who)
	return may, pages(ctx, g.client, path, func(list []member) int {
		for _, m := range list {
			may = may || m.Name == who && m.State == "active" && m.Level >= developer
		}
		return len(list)
	})
}
