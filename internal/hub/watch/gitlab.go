package watch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"krund/internal/display"
	"krund/internal/hub/database"
)

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

// thread is the path of the comments on what a run is about, and the field with their text.
func (g gitlab) thread(r database.Run) (path, field string) {
	if r.Change > 0 {
		return fmt.Sprintf("%s/merge_requests/%d/notes", g.project(), r.Change), "body"
	}
	return g.project() + "/repository/commits/" + r.Revision + "/comments", "note"
}

func (g gitlab) comments(ctx context.Context, r database.Run) (all []string, err error) {
	path, _ := g.thread(r)
	if r.Change > 0 {
		path += "?sort=asc&order_by=created_at"
	}
	return all, pages(ctx, g.client, path, func(list []struct{ Body, Note string }) int {
		for _, c := range list {
			all = append(all, c.Body+c.Note)
		}
		return len(list)
	})
}

func (g gitlab) comment(ctx context.Context, r database.Run, text string) error {
	path, field := g.thread(r)
	return g.do(ctx, http.MethodPost, path, map[string]string{field: text}, nil)
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
