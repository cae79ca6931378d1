package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
	"krund/rig/must"
)

// TestSetRole: an admin changes the role of another user, whose tokens follow at once when it is a
// lesser one. Only the roles of users are accepted, and the last admin stays one.
func TestSetRole(t *testing.T) { dbtest.OnEach(t, testSetRole) }

func testSetRole(t *testing.T, at string) {
	h := hubtest.On(t, at)
	boss, ann := h.Client(t, "boss", access.Admin), h.Client(t, "ann", access.Admin)
	set := func(c *api.Client, name, role string) int {
		err := c.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/"+name, api.RoleMessage{Role: role}, nil)
		var refused *api.Error
		switch {
		case err == nil:
			return http.StatusOK
		case errors.As(err, &refused):
			return refused.Status
		}
		t.Fatal(err)
		return 0
	}
	for _, c := range []struct {
		client     *api.Client
		name, role string
		want       int
	}{
		{boss, "boss", "reader", 409}, {boss, "eve", "reader", 404}, {boss, "ann", "machine", 400},
		{boss, "ann", "join", 400}, {boss, "ann", "", 400}, {boss, "ann", "user", 200},
		{ann, "boss", "reader", 403}, {ann, "ann", "admin", 403}, {boss, "ann", "admin", 200},
		{ann, "boss", "reader", 200},
	} {
		must.Equal(t, set(c.client, c.name, c.role), c.want, c.name, "becomes", c.role)
	}
}

// TestAdminsAtOnce: of two admins who demote or remove each other at the same moment, one succeeds,
// whatever else the other one's request had been permitted before. An admin remains.
func TestAdminsAtOnce(t *testing.T) { dbtest.OnEach(t, testAdminsAtOnce) }

func testAdminsAtOnce(t *testing.T, at string) {
	h := hubtest.On(t, at)
	for name, request := range map[string]func(c *api.Client, other string) error{
		"demote": func(c *api.Client, other string) error {
			return c.DoJSON(t.Context(), http.MethodPut, api.PathUsers+"/"+other,
				api.RoleMessage{Role: "reader"}, nil)
		},
		"remove": func(c *api.Client, other string) error {
			return c.Do(t.Context(), http.MethodDelete, api.PathUsers+"/"+other, nil, nil)
		},
	} {
		for round := range 25 {
			names := [2]string{fmt.Sprintf("%s-a%d", name, round), fmt.Sprintf("%s-b%d", name, round)}
			clients := [2]*api.Client{h.Client(t, names[0], access.Admin),
				h.Client(t, names[1], access.Admin)}
			var done atomic.Int32
			var both sync.WaitGroup
			for i, c := range clients {
				both.Go(func() {
					err := request(c, names[1-i])
					var refused *api.Error
					switch {
					case err == nil:
						done.Add(1)
					case !errors.As(err, &refused) || refused.Status != 401 && refused.Status != 403:
						t.Errorf("%s, round %d: %v", name, round, err)
					}
				})
			}
			both.Wait()
			must.Equal(t, done.Load(), 1, name, "round", round, "of 2 succeeded")
		}
	}
}
