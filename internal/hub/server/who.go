package server

import (
	"errors"
	"net/http"
	"strings"

	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/pages"
)

// who returns the identity of who sent the request: by a bearer token, by the session of a browser,
// or by the header of a reverse proxy.
func (s *Server) who(r *http.Request) (access.Identity, error) {
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if c, err := r.Cookie(pages.Cookie); !found && err == nil {
		token, found = c.Value, true
	}
	if !found {
		if who, ok, err := s.proxied(r); ok || err != nil {
			return who, err
		}
		if s.Login.Anonymous {
			return access.Identity{Name: string(access.Anonymous), Role: access.Anonymous}, nil
		}
		return access.Identity{}, failure{http.StatusUnauthorized,
			"no token; send the header \"Authorization: Bearer TOKEN\", or log in"}
	}
	who, err := s.DB.Who(r.Context(), token)
	if errors.Is(err, database.ErrMissing) {
		err = database.ErrRevoked
	}
	return who, err
}
