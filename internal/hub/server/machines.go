package server

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"krund/internal/hub/access"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/pages"
	"krund/internal/hub/store"
)

// join registers a machine and answers with its token.
func (s *Server) join(w http.ResponseWriter, r *http.Request) (any, error) {
	var request api.JoinRequest
	if err := s.read(w, r, &request); err != nil {
		return nil, err
	}
	if !api.ValidMachine(request.Name) || request.Pool != "" && !api.ValidMachine(request.Pool) {
		return nil, refuse(fmt.Errorf("the machine's name %.80q or pool %.80q: use 1 to 64 letters, "+
			"digits, dots, hyphens and underscores; krunctl hub join has --name", request.Name, request.Pool))
	}
	var answer api.JoinAnswer
	err := s.DB.Update(r.Context(), func(tx *sql.Tx) (err error) {
		if err = s.DB.CheckNames(r.Context(), tx, request.Name, request.Pool); err != nil {
			return err
		}
		if answer.Replaced, err = s.replaces(r.Context(), tx, request); err == nil {
			answer.ID, answer.Token, err = s.DB.Join(r.Context(), tx, request.Name, request.Pool)
		}
		return err
	})
	return answer, err
}

// recently is how long ago a machine joined or was seen whose place another one does not take
// unasked.
const recently = time.Hour

// replaces returns when the former machine of this name was seen last; "" if there was none. That
// it is in use, or has just joined, is an error, unless the request confirms that it is to be
// replaced: hosts may have the same name by mistake, and join at the same time.
func (s *Server) replaces(ctx context.Context, tx *sql.Tx, request api.JoinRequest) (string, error) {
	if added, err := s.DB.AddMachine(ctx, tx, request.Name); added || err != nil {
		return "", err
	}
	m, err := s.DB.MachineNamed(ctx, tx, request.Name)
	if err != nil {
		return "", err
	}
	running, err := s.DB.RunningOn(ctx, m.ID)
	if err != nil {
		return "", err
	}
	seen, last, what := "", m.Joined, "joined at "+m.Joined.UTC().Format(time.RFC3339)
	if !m.LastSeen.IsZero() {
		if seen = m.LastSeen.UTC().Format(time.RFC3339); m.LastSeen.After(last) {
			last = m.LastSeen
		}
		what = "was seen last at " + seen
	}
	if !request.Replace && (len(running) > 0 || s.DB.Now().Sub(last) < recently) {
		if len(running) > 0 {
			what += " and runs an experiment"
		}
		return "", pages.Refuse(http.StatusConflict, "machine %q (%s) %s; if this is the same "+
			"machine, or replaces it, add --replace; else choose another --name", m.Name, m.ID, what)
	}
	if seen != "" {
		err = s.mayReplace(ctx, m, request.Former)
	}
	return seen, err
}

// mayReplace refuses the name of a machine that the hub has seen to who has only a token to join:
// it is given to every machine, and would get the experiments of any other.
func (s *Server) mayReplace(ctx context.Context, m database.Machine, former string) error {
	if access.From(ctx).Role == access.Admin {
		return nil
	}
	who, err := s.DB.Who(ctx, former)
	if err != nil && !errors.Is(err, database.ErrMissing) {
		return err
	}
	if err != nil || who.ID != m.ID {
		return pages.Refuse(http.StatusForbidden, "machine %q (%s) is known; to take its place, join "+
			"where /etc/krund/hub.toml still has its token, or with a token that has the role admin; else "+
			"choose another --name", m.Name, m.ID)
	}
	return nil
}

// ship stores what a machine sends: first the contents, then, in one transaction, what refers to
// them. The answer follows the commit, and gives an idle machine something to begin.
func (s *Server) ship(w http.ResponseWriter, r *http.Request) (any, error) { return s.receive(w, r) }

// receive receives all of a shipment before it takes anything that others wait for.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) (receipt api.Receipt, err error) {
	machine := access.From(r.Context())
	if _, busy := s.receiving.LoadOrStore(machine.ID, true); busy {
		return receipt, pages.Refuse(http.StatusServiceUnavailable,
			"another request of this machine is being received; send this one again when it has ended")
	}
	defer s.receiving.Delete(machine.ID)
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, api.MaxShip))
	head, err := api.ReadHead(body)
	if err != nil {
		return receipt, refuse(err)
	}
	message, err := s.parse(head)
	if err != nil {
		return receipt, refuse(err)
	}
	var blobs []string
	for _, e := range message.Entries {
		if e.Name == "" {
			blobs = append(blobs, e.Hash)
		}
	}
	if err := s.DB.Announce(r.Context(), blobs); err != nil {
		return receipt, err
	}
	spooled, err := s.contents(r.Context(), body, message.Entries)
	defer spooled.close()
	if err != nil {
		return receipt, err
	}
	files, release, err := spooled.load(r.Context(), s.memory)
	if err != nil {
		return receipt, err
	}
	defer release()
	err = s.DB.Update(r.Context(), func(tx *sql.Tx) error {
		receipt = api.Receipt{} // of this attempt
		if err := s.report(r.Context(), tx, machine.ID, message.Status); err != nil {
			return err
		}
		if message.Experiment == nil {
			return nil
		}
		return s.accept(r.Context(), tx, machine, message, files, &receipt)
	})
	if err == nil && message.Experiment == nil && !message.Status.Held && !message.Status.Busy { // it is idle
		receipt.Orders.Next, err = s.queue().Next(r.Context(), machine.ID)
	}
	if err == nil {
		s.metrics.records.Add(float64(receipt.New))
	}
	return receipt, err
}

// compact returns a document as JSON for the database, which no browser reads: escaping what is
// special in HTML would take six times the bytes.
func compact(document any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(document)
	return b.String(), err
}

// report stores the state of the machine.
func (s *Server) report(ctx context.Context, tx *sql.Tx, id string, status api.Status) error {
	facts := ""
	if len(status.Facts) > 0 {
		text, err := compact(status.Facts)
		if err != nil {
			return err
		}
		facts, status.Facts = text, nil
	}
	text, err := compact(status)
	if err != nil {
		return err
	}
	return s.DB.Seen(ctx, tx, id, status.BootID, facts, text)
}

// accept stores the rows of an experiment's progress, records and files.
func (s *Server) accept(ctx context.Context, tx *sql.Tx, machine access.Identity, message api.Ship,
	files map[string][]byte, receipt *api.Receipt) error {
	share, err := s.share(ctx, tx, machine, *message.Experiment)
	if err != nil {
		return s.gone(ctx, tx, machine, message.Experiment.ID, err)
	}
	progress, long := message.Experiment.Progress.Details()
	text, err := compact(progress)
	if err != nil {
		return err
	}
	details, err := compact(long)
	if err != nil {
		return err
	}
	share.Status = text
	if err := s.queue().Report(ctx, tx, &share, progress); err != nil {
		return s.gone(ctx, tx, machine, share.Experiment, err) // it may be deleted since share was read
	}
	if err := s.DB.PutDetails(ctx, tx, share, details); err != nil {
		return err
	}
	receipt.Experiment, receipt.Orders.Request = share.Experiment, share.Request
	return s.acceptEntries(ctx, tx, share, message.Entries, files, receipt)
}

func (s *Server) acceptEntries(ctx context.Context, tx *sql.Tx, share database.Share, entries []api.Entry,
	files map[string][]byte, receipt *api.Receipt) error {
	// All requests add blobs in the same order, so that no two wait for each other.
	byHash := slices.SortedFunc(slices.Values(entries), func(a, b api.Entry) int {
		return cmp.Compare(a.Hash, b.Hash)
	})
	for _, e := range byHash {
		if e.Name == "" {
			if err := s.DB.AddBlob(ctx, tx, e.Hash, e.Size); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if e.Name != "" {
			f := database.File{Experiment: share.Experiment, Machine: share.Machine, Name: e.Name,
				Hash: e.Hash}
			if err := s.DB.PutFile(ctx, tx, f, files[e.Name]); err != nil {
				return err
			}
			continue
		}
		added, err := s.DB.AddRecord(ctx, tx, database.Record{Experiment: share.Experiment,
			Machine: share.Machine, Slot: int64(e.Slot), Attempt: int64(e.Attempt), Blob: e.Hash})
		if err != nil {
			return err
		}
		if added {
			receipt.New++
		}
	}
	return nil
}

// parse parses the first line of a shipment; so much of it takes memory that few are parsed at the
// same time.
func (s *Server) parse(head []byte) (api.Ship, error) {
	s.parsing <- struct{}{}
	defer func() { <-s.parsing }()
	return api.ParseShip(head)
}

// mostParsed is how many first lines are parsed at the same time.
const mostParsed = 4

// memoryBytes bounds the memory of what has been received and is being stored; others wait. A
// shipment may need all of it.
const memoryBytes = api.MaxShip

// spool has the files of a shipment that are no records, by name and packed.
type spool map[string]*os.File

func (s spool) close() {
	for _, f := range s {
		_ = f.Close() // it is gone then
	}
}

// load reads all files when there is memory for them. release gives that back.
func (s spool) load(ctx context.Context, memory *semaphore.Weighted) (files map[string][]byte, release func(),
	err error) {
	var total int64
	sizes := map[string]int64{}
	for name, f := range s {
		info, err := f.Stat()
		if err != nil {
			return nil, nil, err
		}
		sizes[name] = info.Size()
		total += info.Size()
	}
	if total == 0 { // a semaphore lets 0 wait, too
		return nil, func() {}, nil
	}
	if err := memory.Acquire(ctx, total); err != nil {
		return nil, nil, err
	}
	release = func() { memory.Release(total) }
	files = map[string][]byte{}
	for name, f := range s {
		files[name] = make([]byte, sizes[name])
		if _, err := io.ReadFull(f, files[name]); err != nil {
			release()
			return nil, nil, fmt.Errorf("read what was received: %w", err)
		}
	}
	return files, release, nil
}

// contents stores the records of a shipment, durably, and its other files for the time being.
func (s *Server) contents(ctx context.Context, body io.Reader, entries []api.Entry) (spool, error) {
	files := spool{}
	for _, e := range entries {
		if e.Name == "" {
			if err := s.Store.Put(ctx, e.Hash, e.Size, body); err != nil {
				return files, err
			}
			continue
		}
		f, err := store.Spool(s.Spool, func(to io.Writer) error {
			packed := database.Pack(to)
			return cmp.Or(store.Receive(packed, e.Hash, e.Size, body), packed.Close())
		})
		if err != nil {
			return files, fmt.Errorf("file %s: %w", e.Name, err)
		}
		files[e.Name] = f
	}
	return files, nil
}

// share returns the machine's share of the experiment that it names, and makes both if the machine
// began it by itself. A machine cannot name an experiment that it has no share of.
func (s *Server) share(ctx context.Context, tx *sql.Tx, machine access.Identity, x api.ShippedExperiment) (
	database.Share, error) {
	id := x.ID
	if id == "" {
		// One that the hub gave, and whose id the machine has lost?
		share, err := s.DB.ShareOf(ctx, tx, machine.ID, x.ConfigHash)
		if !errors.Is(err, database.ErrMissing) {
			return share, err
		}
		id = ownID(machine.ID, x)
		project, err := s.DB.OwnProject(ctx, tx, machine.ID)
		if err == nil {
			err = s.DB.AddExperiment(ctx, tx, database.Experiment{ID: id, Name: x.Name, Config: x.ConfigHash,
				State: database.Running, Target: machine.Name, Project: project})
		}
		if err != nil {
			return database.Share{}, err
		}
	}
	share, err := s.DB.Share(ctx, tx, id, machine.ID)
	if x.ID == "" && errors.Is(err, database.ErrMissing) {
		return database.Share{Experiment: id, Machine: machine.ID, Count: 1, State: database.Running},
			s.DB.RoomForOwn(ctx, tx, machine.ID)
	}
	return share, err
}

// gone returns ErrDeleted instead of ErrMissing for an experiment that the machine had a part of.
func (s *Server) gone(ctx context.Context, tx *sql.Tx, machine access.Identity, id string, err error) error {
	if errors.Is(err, database.ErrMissing) {
		if deleted, wrong := s.DB.Deleted(ctx, tx, id, machine.ID); deleted || wrong != nil {
			return errors.Join(wrong, fmt.Errorf("experiment %s: %w", id, database.ErrDeleted))
		}
	}
	return err
}

// ownID returns the id of an experiment that a machine began without the hub: the same whenever it
// is shipped, and another one for each schedule.
func ownID(machine string, x api.ShippedExperiment) string {
	const digits = 16
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d", machine, x.Name, x.ConfigHash, x.Created, x.Seed))
	return hex.EncodeToString(sum[:])[:digits]
}

func (s *Server) queue() jobs.Queue { return jobs.Queue{DB: s.DB, Weights: s.Weights} }

// have lists which records the hub has of a machine's experiment.
func (s *Server) have(_ http.ResponseWriter, r *http.Request) (any, error) {
	after, err := strconv.ParseInt(r.FormValue("after"), 10, 64)
	if err != nil {
		return nil, refuse(errors.New("after is no number"))
	}
	rows, err := s.DB.Records(r.Context(), r.FormValue("experiment"), access.From(r.Context()).ID, after,
		api.MaxEntries)
	list := []api.Have{}
	for _, row := range rows {
		list = append(list, api.Have{Seq: row.Seq, Slot: int(row.Slot), Attempt: int(row.Attempt),
			Hash: row.Blob})
	}
	return list, err
}

// blob sends a content to a machine that has a share of an experiment with this bundle.
func (s *Server) blob(w http.ResponseWriter, r *http.Request) (any, error) {
	hash := r.PathValue("hash")
	if ok, err := s.DB.MayFetch(r.Context(), hash, access.From(r.Context()).ID); err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("blob %.64q: %w", hash, database.ErrMissing))
	}
	content, err := s.Store.Get(r.Context(), hash)
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // it was only read
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, content); err != nil {
		s.Log.Warn("a blob was not sent whole", "hash", hash, "error", err)
		panic(http.ErrAbortHandler) // so that the machine does not take it for whole
	}
	return nil, nil
}
