// Package watchtest has what tests of package watch need: a repository, and servers that speak the
// parts of the APIs of GitHub and GitLab that the hub uses, as they are published. They refuse what
// the real ones refuse. Start reading at [GitHub].
package watchtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Check is a check run or a commit status.
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
	Texts   map[string][]string // comments, by the path of the thread
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
	repo := "/repos/" + g.Project
	path := strings.TrimPrefix(r.URL.Path, repo)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var body map[string]any
	if r.Method != http.MethodGet && r.ContentLength != 0 {
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			answer(w, http.StatusBadRequest, map[string]any{"message": "Problems parsing JSON"})
			return
		}
	}
	switch {
	case r.URL.Path == "/app/installations/8/access_tokens" && r.Method == http.MethodPost:
		if !g.ofApp(token) {
			break
		}
		answer(w, http.StatusCreated, map[string]any{"token": installationToken,
			"expires_at": "2100-01-01T00:00:00Z"})
		return
	case token != installationToken:
		answer(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
		return
	case path == "/check-runs" && r.Method == http.MethodPost:
		g.putCheck(w, body, nil)
		return
	case len(parts) == 2 && parts[0] == "check-runs" && r.Method == http.MethodPatch:
		for i := range g.Checks {
			if strconv.FormatInt(g.Checks[i].ID, 10) == parts[1] {
				g.putCheck(w, body, &g.Checks[i])
				return
			}
		}
	case len(parts) == 3 && parts[0] == "commits" && parts[2] == "check-runs":
		list := []Check{}
		for _, c := range g.Checks {
			if c.Head == parts[1] && c.Name == r.URL.Query().Get("check_name") {
				list = append(list, c)
			}
		}
		answer(w, http.StatusOK, map[string]any{"total_count": len(list), "check_runs": page(r, list)})
		return
	case len(parts) == 3 && parts[2] == "comments":
		if r.Method == http.MethodPost {
			text, _ := body["body"].(string)
			if text == "" {
				answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed"})
				return
			}
			if g.Texts == nil {
				g.Texts = map[string][]string{}
			}
			g.Texts[path] = append(g.Texts[path], text)
			answer(w, http.StatusCreated, map[string]any{"body": text})
			return
		}
		list := []map[string]any{}
		for _, text := range g.Texts[path] {
			list = append(list, map[string]any{"body": text})
		}
		answer(w, http.StatusOK, page(r, list))
		return
	case len(parts) == 3 && parts[0] == "collaborators" && parts[2] == "permission":
		permission := "read"
		if slices.Contains(g.Writers, parts[1]) {
			permission = "write"
		}
		answer(w, http.StatusOK, map[string]any{"permission": permission, "role_name": permission})
		return
	case len(parts) == 2 && parts[0] == "pulls":
		n, _ := strconv.ParseInt(parts[1], 10, 64)
		if pull, ok := g.Pulls[n]; ok {
			answer(w, http.StatusOK, map[string]any{"number": n, "base": map[string]any{"ref": "main"},
				"head": map[string]any{"sha": pull[0], "repo": map[string]any{"full_name": pull[1]}}})
			return
		}
	}
	answer(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
}

// ofApp reports whether a token is one of the App, signed with its key.
func (g *GitHub) ofApp(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || g.Key == nil {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	signature, wrong := base64.RawURLEncoding.DecodeString(parts[2])
	var c struct {
		From int64  `json:"iat"`
		To   int64  `json:"exp"`
		By   string `json:"iss"`
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	const longest = 600 // seconds
	return err == nil && wrong == nil && json.Unmarshal(claims, &c) == nil && c.By == "7" &&
		c.To-c.From <= longest &&
		rsa.VerifyPKCS1v15(g.Key, crypto.SHA256, sum[:], signature) == nil
}

// putCheck adds or changes a check run.
func (g *GitHub) putCheck(w http.ResponseWriter, body map[string]any, old *Check) {
	text, _ := json.Marshal(body)
	c := Check{ID: int64(len(g.Checks) + 1)}
	if old != nil {
		c = *old
	}
	err := json.Unmarshal(text, &c)
	_, head := body["head_sha"]
	ended := slices.Contains([]string{"action_required", "cancelled", "failure", "neutral", "success",
		"skipped",
		"timed_out"}, c.Conclusion)
	switch {
	case err != nil, c.Name == "", len(c.Head) != 40, head == (old != nil),
		!slices.Contains([]string{"queued", "in_progress", "completed"}, c.Status),
		(c.Status == "completed") != ended, c.Output.Title == "" || c.Output.Summary == "":
		answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Invalid request."})
		return
	case old != nil:
		c.Changed++
		*old = c
		answer(w, http.StatusOK, c)
		return
	}
	g.Checks = append(g.Checks, c)
	answer(w, http.StatusCreated, c)
}

func answer(w http.ResponseWriter, code int, document any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(document) // the client may have gone
}

// page returns the part of a list that is asked for.
func page[T any](r *http.Request, list []T) []T {
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if size < 1 || size > 100 {
		size = 30
	}
	from := min(max(number-1, 0)*size, len(list))
	return list[from:min(from+size, len(list))]
}

// Sign returns the signature of a message of GitHub.
func Sign(sum []byte) string { return fmt.Sprintf("sha256=%x", sum) }
