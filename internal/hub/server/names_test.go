package server_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// TestBundleNames: what is no hash is refused before it is announced. A name of tables would be
// removed from the store as garbage an hour later, and another one would keep garbage from being
// removed.
func TestBundleNames(t *testing.T) {
	h := hubtest.New(t)
	token := h.Client(t, "ann", access.User).Token
	for _, name := range []string{"tables%2Fname=x%2Fexperiment=id", "tables%2F.", "x"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, h.URL+"/api/v1/bundles/"+name,
			strings.NewReader("x"))
		must.Do(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		response := must.Get(http.DefaultClient.Do(request))(t)
		_ = response.Body.Close()
		var garbage int
		err = h.DB.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM garbage`).Scan(&garbage)
		must.Be(t, err == nil && garbage == 0 && response.StatusCode == http.StatusBadRequest, name,
			response.Status, garbage, "announced", err)
	}
}

// TestJoinAtOnce: of several hosts with the same name that join at the same time, one gets the
// name, and its token is not ended by another one's.
func TestJoinAtOnce(t *testing.T) { dbtest.OnEach(t, testJoinAtOnce) }

func testJoinAtOnce(t *testing.T, at string) {
	h := hubtest.On(t, at)
	join := h.Client(t, "", access.Join)
	const hosts = 40 // more than connections of the database
	var joined atomic.Int32
	var all sync.WaitGroup
	for range hosts {
		all.Go(func() {
			answer, err := join.Join(t.Context(), api.JoinRequest{Name: "localhost"})
			var refused *api.Error
			switch {
			case err == nil:
				joined.Add(1)
				m := &api.Client{URL: h.URL, Token: answer.Token}
				_, err := m.Ship(t.Context(), api.Ship{}, nil)
				must.Be(t, err == nil, "the host that got the name", err)
			case !errors.As(err, &refused) || refused.Status != http.StatusConflict:
				t.Error(err)
			}
		})
	}
	all.Wait()
	must.Equal(t, joined.Load(), 1, "hosts have joined under the same name")
}

// TestReplace: a token to join, which every machine gets, does not take over a machine that the hub
// knows, however long that was silent. The machine itself may join again, and an admin may replace
// it. A machine that was never seen has nothing to take over: its answer may have been lost.
func TestReplace(t *testing.T) { dbtest.OnEach(t, testReplace) }

func testReplace(t *testing.T, at string) {
	h := hubtest.On(t, at)
	join, admin := h.Client(t, "", access.Join), h.Client(t, "boss", access.Admin)
	other := h.Machine(t, "lab2")
	first := must.Get(join.Join(t.Context(), api.JoinRequest{Name: "lab1"}))(t)
	again := must.Get(
		join.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true}))(t, "it was never seen")
	m := &api.Client{URL: h.URL, Token: again.Token}
	must.Get(m.Ship(t.Context(), api.Ship{}, nil))(t)
	for _, former := range []string{"", "x", first.Token, other.Token, join.Token, admin.Token} {
		_, err := join.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true, Former: former})
		var refused *api.Error
		must.Be(t, errors.As(err, &refused) && refused.Status == http.StatusForbidden, "with the token",
			former, err)
	}
	must.Get(m.Ship(t.Context(), api.Ship{}, nil))(t, "the machine afterwards")
	_, err := join.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true, Former: again.Token})
	must.Be(t, err == nil, "the machine itself", err)
	must.Get(admin.Join(t.Context(), api.JoinRequest{Name: "lab1", Replace: true}))(t, "an admin")
}
