package watchtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// GitLab is a server of the API for one project.
type GitLab struct {
	Project, Token string
	mu             sync.Mutex
	Statuses       []Status
	Texts          map[string][]string // comments, by the path of the thread
	// Requests are the heads of merge requests, and their projects: the own one is 1.
	Requests map[int64]Request
	Levels   map[string]int // access, by name
}

// Status is a commit status.
type Status struct {
	SHA, Status, Name, Description string
}

// Request is a merge request.
type Request struct {
	SHA    string
	Source int64
}

// ServeHTTP implements http.Handler.
func (g *GitLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	project := "/projects/" + url.PathEscape(g.Project)
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), project)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var body map[string]string
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": "the body is invalid"})
		return
	}
	thread, field := len(parts) == 3 && parts[2] == "notes", "body"
	if len(parts) == 4 && parts[3] == "comments" {
		thread, field = true, "note"
	}
	switch {
	case r.Header.Get("PRIVATE-TOKEN") != g.Token:
		answer(w, http.StatusUnauthorized, map[string]any{"message": "401 Unauthorized"})
		return
	case !ok:
	case len(parts) == 2 && parts[0] == "statuses" && r.Method == http.MethodPost:
		s := Status{parts[1], body["state"], body["name"], body["description"]}
		last := ""
		for _, one := range g.Statuses {
			if one.SHA == s.SHA && one.Name == s.Name {
				last = one.Status
			}
		}
		if !slices.Contains([]string{"pending", "running", "success", "failed", "canceled", "skipped"},
			s.Status) ||
			len(s.Description) > 255 || last == "running" && last == s.Status {
			answer(w, http.StatusBadRequest, map[string]any{"message": "Cannot transition status"})
			return
		}
		g.Statuses = append(g.Statuses, s)
		answer(w, http.StatusCreated, s)
		return
	case len(parts) == 4 && parts[0] == "repository" && parts[3] == "statuses":
		list := []map[string]string{}
		for _, s := range g.Statuses {
			if s.SHA == parts[2] && s.Name == r.URL.Query().Get("name") {
				list = append(list, map[string]string{"status": s.Status, "name": s.Name,
					"description": s.Description})
			}
		}
		answer(w, http.StatusOK, page(r, list))
		return
	case thread && r.Method == http.MethodPost:
		if body[field] == "" {
			answer(w, http.StatusBadRequest, map[string]any{"error": field + " is missing"})
			return
		}
		if g.Texts == nil {
			g.Texts = map[string][]string{}
		}
		g.Texts[path] = append(g.Texts[path], body[field])
		answer(w, http.StatusCreated, body)
		return
	case thread:
		list := []map[string]string{}
		for _, text := range g.Texts[path] {
			list = append(list, map[string]string{field: text})
		}
		answer(w, http.StatusOK, page(r, list))
		return
	case path == "/members/all":
		list := []map[string]any{}
		for name, level := range g.Levels {
			if strings.Contains(name, r.URL.Query().Get("query")) {
				list = append(list, map[string]any{"username": name, "state": "active",
					"access_level": level})
			}
		}
		answer(w, http.StatusOK, page(r, list))
		return
	case len(parts) == 2 && parts[0] == "merge_requests":
		n, _ := strconv.ParseInt(parts[1], 10, 64)
		if m, ok := g.Requests[n]; ok {
			answer(w, http.StatusOK, map[string]any{"iid": n, "sha": m.SHA, "target_branch": "main",
				"source_project_id": m.Source, "target_project_id": 1})
			return
		}
	}
	answer(w, http.StatusNotFound, map[string]any{"message": "404 Not found"})
}
