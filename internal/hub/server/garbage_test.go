package server_test

import (
	"net/http"
	"strings"
	"testing"

	"krund/internal/hub/access"
	"krund/internal/hub/hubtest"
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
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		var garbage int
		err = h.DB.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM garbage`).Scan(&garbage)
		if err != nil || garbage != 0 || response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s, %d announced, %v", name, response.Status, garbage, err)
		}
	}
}
