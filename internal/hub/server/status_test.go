package server

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"krund/internal/hub/database"
	"krund/internal/hub/pages"
	"krund/internal/hub/store"
	"krund/rig/must"
)

// TestStatus: only what is known to be wrong with a request is refused for good.
func TestStatus(t *testing.T) {
	for text, c := range map[string]struct {
		err  error
		want int
	}{
		"a connection of the database was cut": {io.ErrUnexpectedEOF, http.StatusServiceUnavailable},
		"any other failure":                    {io.ErrClosedPipe, http.StatusServiceUnavailable},
		"the body has ended too soon":          {store.ErrShort, http.StatusBadRequest},
		"the body is another":                  {store.ErrHash, http.StatusBadRequest},
		"the body did not come":                {pages.Refuse(http.StatusRequestTimeout, ""), 408},
		"there is no such row":                 {database.ErrMissing, http.StatusNotFound},
		"the token is gone":                    {database.ErrRevoked, http.StatusUnauthorized},
	} {
		got, _ := pages.Status(fmt.Errorf("store x: %w", c.err))
		must.Equal(t, got, c.want, text)
	}
}
