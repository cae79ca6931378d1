// Package watchtest has what tests of package watch need: a repository, and servers that speak the
// parts of the APIs of GitHub and GitLab that the hub uses, as they are published. They refuse what
// the real ones refuse. Start reading at [GitHub].
package watchtest

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// object is a JSON object.
type object = map[string]any

// routes are what a server answers, by patterns of net/http: a status and a document.
type routes map[string]func(r *http.Request, body object) (int, any)

// serve answers a request. For what does not exist, a handler has the status 0.
func (all routes) serve(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	send := func(w http.ResponseWriter, code int, document any) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if code == 0 {
			code, document = http.StatusNotFound, object{"message": "Not Found"}
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(document) // the client may have gone
	}
	for pattern, do := range all {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var body object
			if r.ContentLength != 0 && json.NewDecoder(r.Body).Decode(&body) != nil {
				send(w, http.StatusBadRequest, object{"message": "Problems parsing JSON"})
				return
			}
			code, document := do(r, body)
			send(w, code, document)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { send(w, 0, nil) })
	mux.ServeHTTP(w, r)
}

// part returns the part of a list that is asked for.
func part[T any](r *http.Request, list []T) []T {
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if size < 1 || size > 100 {
		size = 30
	}
	from := min(max(number-1, 0)*size, len(list))
	return list[from:min(from+size, len(list))]
}

// texts are comments, by the path of the thread.
type texts map[string][]string

// handle returns a handler of threads below a path, whose comments have their text in a field.
func (all *texts) handle(below, field string) func(*http.Request, object) (int, any) {
	return func(r *http.Request, body object) (int, any) {
		thread := strings.TrimPrefix(r.URL.EscapedPath(), below)
		if r.Method == http.MethodGet {
			list := []object{}
			for _, text := range (*all)[thread] {
				list = append(list, object{field: text})
			}
			return http.StatusOK, part(r, list)
		}
		text, _ := body[field].(string)
		if text == "" {
			return http.StatusUnprocessableEntity, object{"message": field + " is missing"}
		}
		if *all == nil {
			*all = texts{}
		}
		(*all)[thread] = append((*all)[thread], text)
		return http.StatusCreated, body
	}
}

// Check is a check run.
type Check struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Head       string `json:"head_sha"`
	External   string `json:"external_id"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	} `json:"output"`
	Changed int `json:"-"` // how often it was changed
}

// GitHub is a server of the API for one repository.
type GitHub struct {
	Project string
	Key     *rsa.PublicKey // of App 7 with the installation 8
	mu      sync.Mutex
	Checks  []Check
	Texts   texts
	// Pulls are the heads of pull requests: revision and repository.
	Pulls map[int64][2]string
	// Writers may write.
	Writers []string
	// Before is called before each request is served, and may be nil; it can break the connection.
	Before func(r *http.Request)
}

// State returns copies of the checks and the comments.
func (g *GitHub) State() ([]Check, map[string][]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	texts := map[string][]string{}
	for name, list := range g.Texts {
		texts[name] = slices.Clone(list)
	}
	return slices.Clone(g.Checks), texts
}

const installationToken = "ghs_installation"

// ServeHTTP implements http.Handler.
func (g *GitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.Before != nil {
		g.Before(r)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	const ofInstallation = "/app/installations/8/access_tokens"
	if token != installationToken && r.URL.Path != ofInstallation {
		http.Error(w, `{"message": "Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	repo := "/repos/" + g.Project
	comments := g.Texts.handle(repo, "body")
	routes{
		"POST " + ofInstallation: func(*http.Request, object) (int, any) {
			if !g.ofApp(token) {
				return 0, nil
			}
			return http.StatusCreated, object{"token": installationToken,
				"expires_at": "2100-01-01T00:00:00Z"}
		},
		"POST " + repo + "/check-runs": func(_ *http.Request, body object) (int, any) {
			return g.putCheck(body, nil)
		},
		"PATCH " + repo + "/check-runs/{id}": func(r *http.Request, body object) (int, any) {
			for i := range g.Checks {
				if fmt.Sprint(g.Checks[i].ID) == r.PathValue("id") {
					return g.putCheck(body, &g.Checks[i])
				}
			}
			return 0, nil
		},
		"GET " + repo + "/commits/{sha}/check-runs": func(r *http.Request, _ object) (int, any) {
			list := []Check{}
			for _, c := range g.Checks {
				if c.Head == r.PathValue("sha") && c.Name == r.FormValue("check_name") {
					list = append(list, c)
				}
			}
			return http.StatusOK, object{"total_count": len(list), "check_runs": part(r, list)}
		},
		repo + "/commits/{sha}/comments": comments,
		repo + "/issues/{n}/comments":    comments,
		"GET " + repo + "/collaborators/{name}/permission": func(r *http.Request, _ object) (int, any) {
			permission := "read"
			if slices.Contains(g.Writers, r.PathValue("name")) {
				permission = "write"
			}
			return http.StatusOK, object{"permission": permission, "role_name": permission}
		},
		"GET " + repo + "/pulls/{n}": func(r *http.Request, _ object) (int, any) {
			n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
			pull, ok := g.Pulls[n]
			if !ok {
				return 0, nil
			}
			return http.StatusOK, object{"number": n, "base": object{"ref": "main"},
				"head": object{"sha": pull[0], "repo": object{"full_name": pull[1]}}}
		},
	}.serve(w, r)
}

// ofApp reports whether a token is one of the App, signed with its key.
func (g *GitHub) ofApp(token string) bool {
	const longest = 10 * time.Minute
	signed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	var c jwt.Claims
	return err == nil && signed.Claims(g.Key, &c) == nil && c.Issuer == "7" &&
		c.Expiry.Time().Sub(c.IssuedAt.Time()) <= longest
}

// putCheck adds or changes a check run.
func (g *GitHub) putCheck(body object, old *Check) (int, any) {
	text, _ := json.Marshal(body)
	c := Check{ID: int64(len(g.Checks) + 1)}
	if old != nil {
		c = *old
	}
	err := json.Unmarshal(text, &c)
	_, head := body["head_sha"]
	ended := slices.Contains([]string{"action_required", "cancelled", "failure", "neutral", "success",
		"skipped", "timed_out"}, c.Conclusion)
	switch {
	case err != nil, c.Name == "", len(c.Head) != 40, head == (old != nil),
		!slices.Contains([]string{"queued", "in_progress", "completed"}, c.Status),
		(c.Status == "completed") != ended, c.Output.Title == "" || c.Output.Summary == "":
		return http.StatusUnprocessableEntity, object{"message": "Invalid request."}
	case old != nil:
		c.Changed++
		*old = c
		return http.StatusOK, c
	}
	g.Checks = append(g.Checks, c)
	return http.StatusCreated, c
}

// Sign returns the signature of a message of GitHub.
func Sign(sum []byte) string { return fmt.Sprintf("sha256=%x", sum) }

// GitLab is a server of the API for one project.
type GitLab struct {
	Project, Token string
	mu             sync.Mutex
	Statuses       []Status
	Texts          texts
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
	if r.Header.Get("PRIVATE-TOKEN") != g.Token {
		http.Error(w, `{"message": "401 Unauthorized"}`, http.StatusUnauthorized)
		return
	}
	project := "/projects/" + strings.ReplaceAll(g.Project, "/", "%2F")
	routes{
		"POST " + project + "/statuses/{sha}": g.postStatus,
		"GET " + project + "/repository/commits/{sha}/statuses": func(r *http.Request, _ object) (int, any) {
			list := []object{}
			for _, s := range g.Statuses {
				if s.SHA == r.PathValue("sha") && s.Name == r.FormValue("name") {
					list = append(list, object{"status": s.Status, "name": s.Name,
						"description": s.Description})
				}
			}
			return http.StatusOK, part(r, list)
		},
		project + "/repository/commits/{sha}/comments": g.Texts.handle(project, "note"),
		project + "/merge_requests/{n}/notes":          g.Texts.handle(project, "body"),
		"GET " + project + "/members/all": func(r *http.Request, _ object) (int, any) {
			list := []object{}
			for name, level := range g.Levels {
				if strings.Contains(name, r.FormValue("query")) {
					list = append(list, object{"username": name, "state": "active", "access_level": level})
				}
			}
			return http.StatusOK, part(r, list)
		},
		"GET " + project + "/merge_requests/{n}": func(r *http.Request, _ object) (int, any) {
			n, _ := strconv.ParseInt(r.PathValue("n"), 10, 64)
			m, ok := g.Requests[n]
			if !ok {
				return 0, nil
			}
			return http.StatusOK, object{"iid": n, "sha": m.SHA, "target_branch": "main",
				"source_project_id": m.Source, "target_project_id": 1}
		},
	}.serve(w, r)
}

// postStatus adds a commit status: the same one as before is refused.
func (g *GitLab) postStatus(r *http.Request, body object) (int, any) {
	text := func(name string) string { s, _ := body[name].(string); return s }
	s := Status{r.PathValue("sha"), text("state"), text("name"), text("description")}
	last := ""
	for _, one := range g.Statuses {
		if one.SHA == s.SHA && one.Name == s.Name {
			last = one.Status
		}
	}
	states := []string{"pending", "running", "success", "failed", "canceled", "skipped"}
	if !slices.Contains(states, s.Status) || len(s.Description) > 255 ||
		last == "running" && last == s.Status {
		return http.StatusBadRequest, object{"message": "Cannot transition status"}
	}
	g.Statuses = append(g.Statuses, s)
	return http.StatusCreated, s
}
