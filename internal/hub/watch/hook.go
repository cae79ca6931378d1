package watch

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
)

// Errors of [Watcher.Hook].
var (
	ErrSignature = errors.New("there is no such webhook, or the signature is not that of its secret, " +
		"or is old")
	ErrMany = errors.New("too many runs were asked for that are not decided yet; try again later")
)

// mostAsked is how many runs of a schedule may be asked for that are not decided.
const mostAsked = 100

// Hook takes a message of a forge to the webhook of a schedule. A comment "/krund run" on a change
// adds a run, once; whether that is permitted is found out later. Everything else is ignored.
func (w *Watcher) Hook(ctx context.Context, name string, header http.Header, body []byte) error {
	var s Schedule
	for _, one := range w.Schedules {
		if one.Name == name {
			s = one
		}
	}
	var key string
	var err error
	if s.Answer.Secret != "" {
		if key, err = secret(s.Answer.Secret); err != nil {
			return err
		}
	}
	if !signed(s.Answer.Forge, key, header, body, w.DB.Now()) || s.Answer.Secret == "" {
		return ErrSignature
	}
	c, ok := commandIn(s.Answer, header, body)
	if !ok {
		return nil
	}
	open, err := w.DB.OpenRuns(ctx, s.Name)
	if err != nil {
		return err
	}
	asked := 0
	for _, r := range open {
		if r.Change > 0 {
			asked++
		}
	}
	if asked >= mostAsked {
		return ErrMany
	}
	return w.DB.Update(ctx, func(tx *sql.Tx) error {
		return w.DB.AddRun(ctx, tx, database.Run{ID: access.NewID(), Schedule: s.Name,
			State: database.RunAsked,
			Cause: fmt.Sprint("comment ", c.id), Change: c.change, Asked: c.who, Words: c.revision})
	})
}

// signed reports whether a message has the signature of a key: the HMAC of GitHub, or that of
// standard webhooks, which GitLab has, with a time.
func signed(forge, key string, header http.Header, body []byte, now time.Time) bool {
	const longest = 5 * time.Minute
	if forge == "github" {
		sum := hmac.New(sha256.New, []byte(key))
		_, _ = sum.Write(body) // it cannot fail
		got, err := hex.DecodeString(strings.TrimPrefix(header.Get("X-Hub-Signature-256"), "sha256="))
		return err == nil && hmac.Equal(got, sum.Sum(nil))
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	seconds, wrong := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || wrong != nil || len(secret) == 0 || now.Sub(time.Unix(seconds, 0)).Abs() > longest {
		return false
	}
	sum := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(sum, "%s.%d.%s", header.Get("Webhook-Id"), seconds, body) // it cannot fail
	for _, one := range strings.Fields(header.Get("Webhook-Signature")) {
		got, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(one, "v1,"))
		if err == nil && hmac.Equal(got, sum.Sum(nil)) {
			return true
		}
	}
	return false
}

// asking is a comment that asks for a run.
type asking struct {
	id, change int64
	who        string
	revision   string // that it names; "": none
}

// commandIn returns what a message asks for; ok is false for everything else. A comment that was
// changed asks for nothing: others may change it.
func commandIn(a Answer, header http.Header, body []byte) (c asking, ok bool) {
	var text, project, event string
	if a.Forge == "github" {
		var m struct {
			Action string
			Issue  struct {
				Number int64
				Pull   *struct{} `json:"pull_request"`
			}
			Comment struct {
				ID   int64
				Body string
				User struct{ Login string }
			}
			Repository struct {
				Name string `json:"full_name"`
			}
		}
		if json.Unmarshal(body, &m) != nil || m.Issue.Pull == nil || m.Action != "created" {
			return c, false
		}
		event, project, text = header.Get("X-GitHub-Event"), m.Repository.Name, m.Comment.Body
		c = asking{id: m.Comment.ID, change: m.Issue.Number, who: m.Comment.User.Login}
	} else {
		var m struct {
			User    struct{ Username string }
			Project struct {
				Path string `json:"path_with_namespace"`
			}
			Note struct {
				ID     int64
				Note   string
				Type   string `json:"noteable_type"`
				Action string
			} `json:"object_attributes"`
			Request struct{ IID int64 } `json:"merge_request"`
		}
		if json.Unmarshal(body, &m) != nil || m.Note.Type != "MergeRequest" || m.Note.Action != "create" {
			return c, false
		}
		event, project, text = header.Get("X-Gitlab-Event"), m.Project.Path, m.Note.Note
		c = asking{id: m.Note.ID, change: m.Request.IID, who: m.User.Username}
	}
	words := strings.Fields(text)
	if len(words) == 3 && commit.MatchString(words[2]) {
		c.revision, words = words[2], words[:2]
	}
	wanted := map[string]string{"github": "issue_comment", "gitlab": "Note Hook"}[a.Forge]
	return c, event == wanted && strings.EqualFold(project, a.Project) && c.id > 0 && c.change > 0 &&
		api.ValidName(c.who) && len(words) == 2 && words[0] == "/krund" && words[1] == "run"
}
