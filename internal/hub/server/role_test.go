package server_test

import (
	"errors"
	"net/http"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database/dbtest"
	"krund/internal/hub/hubtest"
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
		if got := set(c.client, c.name, c.role); got != c.want {
			t.Errorf("%s becomes %q: %d, want %d", c.name, c.role, got, c.want)
		}
	}
}
