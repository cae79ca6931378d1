package server_test

import (
	"database/sql"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/server"
	"krund/rig/must"
)

// member returns a client of a user with roles in projects.
func member(t *testing.T, h *hubtest.Hub, boss *api.Client, name string,
	roles map[string]string) *api.Client {
	t.Helper()
	c := h.Client(t, name, access.User)
	must.Do(t, boss.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/"+name, api.RoleMessage{Role: "user",
		Projects: roles}, nil))
	return c
}

// inPool joins a machine to a pool.
func inPool(t *testing.T, h *hubtest.Hub, name, pool string) *api.Client {
	t.Helper()
	answer := must.Get(h.Client(t, "", access.Join).Join(t.Context(),
		api.JoinRequest{Name: name, Pool: pool}))(t)
	return &api.Client{URL: h.URL, Token: answer.Token}
}

// asked is an answer.
type asked struct {
	code      int
	text, tag string
}

func ask(t *testing.T, c *api.Client, method, path, body string) asked {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, c.URL+path, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+c.Token)
	if strings.Contains(body, "=") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	defer response.Body.Close() // it was only read
	return asked{response.StatusCode, string(must.Get(io.ReadAll(response.Body))(t)),
		response.Header.Get("ETag")}
}

// TestProjects: who is not in a project asks every route for everything that it has: names, ids and
// hashes in the address and in each parameter. The answer is the one that something gets that does
// not exist. What lists, counts, badges, exports and ETags say is what they said before the project
// had anything, and nothing of it has changed afterwards. Its own member is answered.
func TestProjects(t *testing.T) { dbtest.OnEach(t, testProjects) }

func testProjects(t *testing.T, at string) {
	h := hubtest.On(t, at, func(s *server.Server) { s.Login.Anonymous = true })
	boss := h.Client(t, "boss", access.Admin)
	bea := member(t, h, boss, "bea", map[string]string{"hidden": "user"})
	outside := map[string]*api.Client{"ann": member(t, h, boss, "ann", map[string]string{"open": "admin"}),
		"old": h.Client(t, "old", access.User), "anonymous": {URL: h.URL},
		"both": member(t, h, boss, "both", map[string]string{"open": "user", "default": "user"})}
	must.Do(t, boss.DoJSON(t.Context(), http.MethodPut, "/api/v1/pools/vault",
		api.PoolMessage{Projects: []string{"hidden"}}, nil))
	inPool(t, h, "lab1", "")
	var lists []string
	for _, r := range h.Routes() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		if method == "GET" && !strings.Contains(path, "{id}") && r.Role.Includes(access.Anonymous) &&
			path != "/live" && path != "/metrics" && r.Role != access.Admin {
			lists = append(lists, strings.NewReplacer("{$}", "", "{name}", "lab1").Replace(path))
		}
	}
	see := func(c *api.Client) map[string]asked {
		all := map[string]asked{}
		for _, path := range lists {
			all[path] = ask(t, c, "GET", path, "")
		}
		return all
	}
	before := map[string]map[string]asked{}
	for who, c := range outside {
		before[who] = see(c)
	}

	vault := inPool(t, h, "vault1", "vault")
	shipped := must.Get(of("secret", "first", "second").send(t.Context(), vault))(t)
	x := must.Get(h.DB.Experiment(t.Context(), shipped.Experiment))(t)
	must.Equal(t, x.Project, "hidden", "of a machine whose pool is of that project")
	bundle := strings.Repeat("b", 64)
	must.Do(t, h.DB.Announce(t.Context(), []string{bundle}))
	must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
		must.Do(t, h.DB.AddBlob(t.Context(), tx, bundle, 1))
		must.Do(t, h.DB.PutBundle(t.Context(), tx, bundle, "bea", `{"experiment":"secret"}`))
		must.Do(t, h.DB.AddRun(t.Context(), tx, database.Run{ID: "secretrun", Schedule: "hidden/secret",
			Cause: "commit secret", State: database.RunWaiting}))
		must.Get(h.DB.Raise(t.Context(), tx, database.Alert{Kind: "overdue", Subject: "vault1",
			Machine: machineID(t, h, "vault1"), Experiment: x.ID, Text: "secret"}))(t)
		return putSeries(t, h, tx, x, "vault1", "secretevent")
	}))
	queued := must.Get(bea.Submit(t.Context(),
		api.Submission{Bundle: bundle, Target: "vault", Machines: 1}))(t)
	alerts := must.Get(h.DB.Alerts(t.Context(), 0, 1))(t)
	mine := see(bea)
	must.Contain(t, mine["/api/v1/queue"].text, queued)
	for _, path := range []string{"experiments", "events", "history", "queue", "runs", "machines", "now",
		"alerts"} {
		must.Be(t, strings.Contains(mine["/api/v1/"+path].text, "secret") || path == "machines", path, mine)
	}

	ids := [][2]string{{x.ID, x.ID[:8] + "00000000"}, {queued, queued[:8] + "00000000"},
		{"secretevent", "xxxxxxevent"}, {alerts[0].ID, strings.Repeat("z", 16)},
		{"hidden%2Fsecret", "nobody%2Fxxxxxx"},
		{"hidden/secret", "nobody/xxxxxx"}, {"vault1", "xxxxx1"},
		{bundle, strings.Repeat("0", 64)}, {"blobs/bb/", "blobs/00/"}, {"vault", "xxxxx"},
		{"hidden", "nobody"}, {access.Hash(bea.Token), strings.Repeat("1", 64)}}
	other := func(text string) string {
		for _, id := range ids {
			text = strings.ReplaceAll(text, id[0], id[1])
		}
		return text
	}
	bodies := []string{url.Values{"state": {"fixed"}, "note": {"x"}, "days": {"3"}, "reason": {"x"},
		"priority": {"9"},
		"confirm":  {"yes"}}.Encode(), `{"request":"stop"}`, `{"role":"admin","projects":["open"]}`,
		`{"bundle":"` + bundle + `","target":"vault","machines":1,"project":"hidden"}`,
		`{"bundle":"` + bundle + `","target":"vault","machines":1,"project":"open"}`,
		`{"bundle":"` + bundle + `","target":"lab1","machines":1}`}
	query := "?" + url.Values{"before": {x.ID}, "after": {queued}, "name": {"hidden/secret"},
		"machine": {"vault1"}, "schedule": {"hidden/secret"}, "key": {"a:b:c"}, "text": {"secret"},
		"experiment": {x.ID}}.Encode()
	found := 0
	for _, r := range h.Routes() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		if path == "/live" || path == "/metrics" || !r.Role.Includes(access.Anonymous) {
			continue
		}
		of := "{id}"
		for kind, id := range map[string]string{"/events/": "secretevent", "/alerts/": alerts[0].ID,
			"/experiments/": x.ID, "/queue": queued} {
			if strings.Contains(path, kind) {
				of = id
			}
		}
		name := "hidden%2Fsecret"
		if strings.Contains(path, "/machines/") {
			name = "vault1"
		} else if strings.Contains(path, "/pools/") {
			name = "vault"
		}
		path = strings.NewReplacer("{$}", "", "{id}", of, "{name}", name, "{path...}", "index.html", "{hash}",
			map[bool]string{true: access.Hash(bea.Token), false: bundle}[strings.HasPrefix(path,
				"/tokens")]).Replace(path)
		if method == "GET" && ask(t, bea, method, path, "").code < 300 {
			found++
		}
		for _, body := range bodies[:map[bool]int{true: len(bodies), false: 1}[method != "GET"]] {
			for _, q := range []string{"", query} {
				for who, c := range outside {
					got := ask(t, c, method, path+q, body)
					want := ask(t, c, method, other(path+q), other(body))
					must.Equal(t, got.code, want.code, who, method, path+q, body, got.text)
					must.Equal(t, other(got.text), want.text, who, method, path+q, body)
					must.Be(t, got.code != 403 || who == "anonymous" || r.Role == access.Admin, who,
						method, path+q, got)
				}
			}
		}
	}
	must.Be(t, found > 30, found)
	for who, c := range outside {
		for path, got := range see(c) {
			must.Equal(t, got, before[who][path], who, path)
		}
	}
	for path, got := range see(bea) {
		must.Equal(t, got, mine[path], path)
	}
}

// TestProjectRights: who reads in a project changes nothing in it, an admin of it everything. A
// pool that is not open to a project is for it as one that does not exist, also for what was
// submitted before, and an id stays in its project. Who sees a machine that measures for others
// learns that it is busy, and who leaves a project sees nothing of it any more.
func TestProjectRights(t *testing.T) { hubtest.OnEach(t, testProjectRights) }

func testProjectRights(t *testing.T, h *hubtest.Hub) {
	boss := h.Client(t, "boss", access.Admin)
	bea := member(t, h, boss, "bea", map[string]string{"b": "user"})
	reads := member(t, h, boss, "reads", map[string]string{"b": "reader", "default": "user"})
	leads := member(t, h, boss, "leads", map[string]string{"b": "admin"})
	ann := member(t, h, boss, "ann", map[string]string{"a": "user", "c": "user"})
	shared := inPool(t, h, "lab1", "lab")
	close := func(pool string, projects ...string) {
		must.Do(t, boss.DoJSON(t.Context(), http.MethodPut, "/api/v1/pools/"+pool,
			api.PoolMessage{Projects: projects}, nil))
	}
	send := func(c *api.Client, owner string, s api.Submission) (string, error) {
		s.Bundle, s.Machines = strings.Repeat("b", 64), 1
		must.Do(t, h.DB.Announce(t.Context(), []string{s.Bundle}))
		must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
			must.Do(t, h.DB.AddBlob(t.Context(), tx, s.Bundle, 1))
			return h.DB.PutBundle(t.Context(), tx, s.Bundle, owner, `{"experiment":"x"}`)
		}))
		return c.Submit(t.Context(), s)
	}
	id := must.Get(send(bea, "bea", api.Submission{ID: api.NewID(), Target: "lab"}))(t)
	for name, test := range map[string]struct {
		c    *api.Client
		s    api.Submission
		want string
	}{
		"reads": {reads, api.Submission{Target: "lab", Project: "b"}, "(403)"},
		"ann":   {ann, api.Submission{Target: "lab"}, "name one of: a, c (404)"},
		"bea":   {bea, api.Submission{Target: "lab", Project: "../b"}, "(404)"},
		"boss":  {boss, api.Submission{Target: "lab", ID: id, Project: "a"}, "(409)"},
	} {
		must.Refused(send(test.c, name, test.s))(t, test.want, name)
	}
	close("lab", "a")
	must.Refused(send(bea, "bea", api.Submission{Target: "lab"}))(t,
		`no machine or pool "lab" for the project b`)
	must.Refused(send(bea, "bea", api.Submission{Target: "lab1"}))(t,
		`no machine or pool "lab1" for the project b`)
	for _, given := range []bool{false, true} {
		receipt := must.Get(shared.Ship(t.Context(), api.Ship{}, nil))(t)
		must.Equal(t, receipt.Orders.Next != nil, given)
		close("lab")
	}
	for path, want := range map[string]string{
		"/api/v1/machines/lab1": `"state":"running","experiment":{"name":"",`,
		"/api/v1/queue":         `"experiments":[],"more":0,"next":"","busy":[{"name":"lab1","page":"/machines/lab1"}]`} {
		must.Contain(t, ask(t, ann, "GET", path, "").text, want)
		must.Contain(t, ask(t, bea, "GET", path, "").text, "b/x")
	}
	form := url.Values{"priority": {"9"}}.Encode()
	for i, c := range []*api.Client{ann, reads, leads, boss} {
		must.Equal(t, ask(t, c, "POST", "/experiments/"+id+"/priority", form).code,
			[]int{404, 403, 303, 303}[i], i)
	}
	x := must.Get(h.DB.Experiment(t.Context(), id))(t)
	must.Do(t, h.DB.Update(t.Context(),
		func(tx *sql.Tx) error { return putSeries(t, h, tx, x, "lab1", "e") }))
	form = url.Values{"state": {"fixed"}}.Encode()
	for i, c := range []*api.Client{ann, reads, leads, bea} {
		must.Equal(t, ask(t, c, "POST", "/events/e", form).code, []int{404, 403, 303, 303}[i], i)
	}
	list := ask(t, boss, "GET", "/api/v1/projects", "").text
	must.Contain(t, list, `{"user":"reads","project":"b","role":"reader"}`)
	must.Equal(t, ask(t, bea, "GET", "/events/e", "").code, 200)
	must.Do(t, boss.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/bea", api.RoleMessage{Role: "user",
		Projects: map[string]string{}}, nil))
	must.Equal(t, ask(t, bea, "GET", "/events/e", "").code, 404)
}
