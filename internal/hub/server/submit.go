package server

import (
	"archive/tar"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/bundle"
	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/pages"
	"krund/internal/hub/rebuild"
)

// bundle stores a bundle after it was checked as a machine will check it.
func (s *Server) bundle(w http.ResponseWriter, r *http.Request) (any, error) {
	hash := r.PathValue("hash")
	m, err := s.acceptBundle(w, r, hash)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return words{"bundle": hash}, s.DB.Update(r.Context(), func(tx *sql.Tx) error {
		err := s.DB.AddBlob(r.Context(), tx, hash, r.ContentLength)
		return errors.Join(err,
			s.DB.PutBundle(r.Context(), tx, hash, access.From(r.Context()).Name, string(text)))
	})
}

// usualBundleBytes is how much a user may send of bundles on a day: 64 of the largest.
const usualBundleBytes = 64 * api.MaxBlob

func (s *Server) acceptBundle(w http.ResponseWriter, r *http.Request, hash string) (
	m bundle.Manifest, err error) {
	if !api.ValidHash(hash) { // other names are announced as garbage, too
		return m, refuse(fmt.Errorf("%.80q is no SHA-256; send a bundle under that of its contents", hash))
	}
	if r.ContentLength < 0 || r.ContentLength > api.MaxBlob {
		return m, refuse(fmt.Errorf("send the bundle with its size; at most %d bytes are accepted",
			api.MaxBlob))
	}
	body := http.MaxBytesReader(w, r.Body, api.MaxBlob)
	err = s.DB.Reserve(r.Context(), access.From(r.Context()).Name, hash, r.ContentLength,
		cmp.Or(s.BundleBytes, usualBundleBytes))
	if err != nil {
		return m, err
	}
	if err := s.DB.Announce(r.Context(), []string{hash}); err != nil {
		return m, err
	}
	if err := s.Store.Put(r.Context(), hash, r.ContentLength, body); err != nil {
		return m, err
	}
	content, err := s.Store.Get(r.Context(), hash)
	if err != nil {
		return m, err
	}
	defer content.Close() //nolint:errcheck // it was only read
	m, err = bundle.Read(content, func(*bundle.Manifest, bundle.File, io.Reader) error { return nil })
	if errors.Is(err, bundle.ErrInvalid) {
		err = refuse(err)
	}
	if err == nil && !api.ValidName(m.Experiment) {
		err = refuse(fmt.Errorf("the experiment's name %.40q is too long, or not printable", m.Experiment))
	}
	return m, err
}

// submit adds an experiment to the queue.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) (any, error) {
	id, err := s.acceptSubmission(w, r)
	if err != nil {
		return nil, err
	}
	state, err := s.state(r, id)
	return created{state}, err
}

func (s *Server) acceptSubmission(w http.ResponseWriter, r *http.Request) (id string, err error) {
	var message api.Submission
	if err := s.read(w, r, &message); err != nil {
		return "", err
	}
	if err := message.Check(); err != nil {
		return "", refuse(err)
	}
	x := database.Experiment{ID: message.ID, Owner: access.From(r.Context()).Name, Bundle: message.Bundle,
		Priority: message.Priority, Target: message.Target, Parts: int64(message.Machines)}
	if x.Project, err = projectOf(access.From(r.Context()), message.Project); err != nil {
		return "", err
	}
	err = s.DB.Update(r.Context(), func(tx *sql.Tx) (err error) {
		if err = s.complete(r.Context(), tx, &x); err == nil {
			id, err = s.queue().Submit(r.Context(), tx, x)
		}
		return err
	})
	if err != nil || message.ID == "" {
		return id, err
	}
	stored, err := s.DB.Experiment(access.Hub(r.Context()), id)
	if err == nil && (stored.Owner != x.Owner || stored.Bundle != x.Bundle || stored.Project != x.Project) {
		err = pages.Refuse(http.StatusConflict, "the id %s is of another experiment; choose another one", id)
	}
	return id, err
}

// projectOf returns the project of what somebody submits, who need not name the only one. Whether
// there are others is not said.
func projectOf(who access.Identity, named string) (string, error) {
	roles, only := who.InProjects()
	mine := slices.Sorted(maps.Keys(roles))
	if named == "" && only && len(mine) == 1 {
		named = mine[0]
	}
	switch named = cmp.Or(named, access.Default); {
	case !access.ValidProject(named) || who.In(named) == "":
		return "", pages.Refuse(http.StatusNotFound, "you are not in a project %.60q; name one of: %s",
			named, strings.Join(mine, ", "))
	case !who.In(named).Includes(access.User):
		return "", pages.Refuse(http.StatusForbidden, "you may read in the project %s, and not submit", named)
	}
	return named, nil
}

// complete adds to a submitted experiment what its bundle and its target say.
func (s *Server) complete(ctx context.Context, tx *sql.Tx, x *database.Experiment) error {
	text, err := s.DB.UseBundle(ctx, tx, x.Bundle, x.Owner)
	if err != nil {
		return err
	}
	var m bundle.Manifest
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return fmt.Errorf("the manifest of bundle %s: %w", x.Bundle, err)
	}
	x.Name, x.Config = m.Experiment, m.Hash(m.Config)
	n, pool, err := s.DB.Targets(ctx, tx, x.Target, x.Project)
	switch {
	case err != nil:
		return err
	case n == 0:
		return refuse(fmt.Errorf("there is no machine or pool %q for the project %s; `krunctl hub "+
			"join` on a machine adds it", x.Target, x.Project))
	case n < x.Parts:
		return refuse(fmt.Errorf("%s has %s, and %d are to share the experiment, each a part of it; "+
			"submit it with --machines %d, or let more machines join", x.Target,
			display.Count(int(n), "machine"), x.Parts, n))
	}
	x.ToPool = pool
	return s.DB.RoomInQueue(ctx, tx, x.Owner)
}

// experiment answers with the state of an experiment.
func (s *Server) experiment(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.state(r, r.PathValue("id"))
}

func (s *Server) state(r *http.Request, id string) (any, error) {
	x, err := s.DB.Experiment(r.Context(), id)
	if err != nil {
		return nil, err
	}
	state := api.State{ID: x.ID, Name: x.Name, Owner: x.Owner, Project: x.Project, State: x.State,
		Held: x.Held, Target: x.Target, Machines: int(x.Parts), Priority: x.Priority,
		Shares: []api.ShareState{}}
	return &state, s.DB.SharesIn(r.Context(), id, false, func(v database.ShareView) {
		one := api.ShareState{Machine: v.Host, Index: int(v.Index), State: v.State}
		_ = json.Unmarshal([]byte(v.Status), &one.Progress) // it was written by this program
		one.Progress, _ = one.Progress.Details()
		state.Shares = append(state.Shares, one)
	})
}

// request passes a request on to the machines of an experiment.
func (s *Server) request(w http.ResponseWriter, r *http.Request) (any, error) {
	var message api.RequestMessage
	if err := s.read(w, r, &message); err != nil {
		return nil, err
	}
	x, err := s.Pages.Own(r)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{api.RequestHold, api.RequestResume, api.RequestStop}, message.Request) {
		return nil, refuse(errors.New("the request must be hold, resume or stop"))
	}
	err = s.DB.Update(r.Context(), func(tx *sql.Tx) error {
		return s.queue().Request(r.Context(), tx, x.ID, message.Request)
	})
	if err != nil {
		return nil, err
	}
	return s.state(r, x.ID)
}

// remove deletes an experiment from the hub.
func (s *Server) remove(_ http.ResponseWriter, r *http.Request) (any, error) {
	x, err := s.Pages.Own(r)
	if err != nil {
		return nil, err
	}
	return words{"deleted": x.ID}, s.Pages.Delete(r.Context(), x.ID, access.From(r.Context()).Name)
}

// results sends what the machines have shipped of an experiment as a tar archive.
func (s *Server) results(w http.ResponseWriter, r *http.Request) (any, error) {
	id := r.PathValue("id")
	dir, err := s.Pages.Directory(r.Context(), id)
	if err == nil {
		if _, err = os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			err = pages.Refuse(http.StatusNotFound, "no machine has shipped results of experiment %s", id)
		}
	}
	if err != nil {
		return nil, err
	}
	w.Header().Set("Content-Type", "application/x-tar")
	out := tar.NewWriter(w)
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(name, rebuild.Part) {
			return err // another request may be fetching a file
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		return addFile(out, name, inside)
	})
	if err := errors.Join(err, out.Close()); err != nil {
		s.Log.Warn("results were not sent whole", "experiment", r.PathValue("id"), "error", err)
		panic(http.ErrAbortHandler) // so that the client does not take them for whole
	}
	return nil, nil
}

func addFile(out *tar.Writer, name, as string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	const readable = 0o644
	err = out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(as), Size: info.Size(),
		Mode: readable})
	if err == nil {
		_, err = io.CopyN(out, file, info.Size())
	}
	return err
}
