package watch

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

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

// thread is the path of the comments on what a run is about.
func (g github) thread(r database.Run) string {
	if r.Change > 0 {
		return fmt.Sprintf("%s/issues/%d/comments", g.repo(), r.Change)
	}
	return g.repo() + "/commits/" + r.Revision + "/comments"
}

func (g github) comments(ctx context.Context, r database.Run) (all []string, err error) {
	path := g.thread(r)
	if r.Change > 0 {
		path += "?since=" + url.QueryEscape(r.Created.UTC().Add(-time.Hour).Format(time.RFC3339))
	}
	return all, pages(ctx, g.client, path, func(list []struct{ Body string }) int {
		for _, c := range list {
			all = append(all, c.Body)
		}
		return len(list)
	})
}

func (g github) comment(ctx context.Context, r database.Run, text string) error {
	return g.do(ctx, http.MethodPost, g.thread(r), map[string]string{"body": text}, nil)
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

// appToken returns a JSON Web Token of a GitHub App (RFC 7519, RS256), valid for some minutes.
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
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-early).Unix(), "exp": now.Add(long).Unix(),
		"iss": fmt.Sprint(app)})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	return text + "." + encode(signature), err
}
