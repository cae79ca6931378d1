// Package ship sends what an experiment has recorded to a hub (krunctl hub ship).
//
// Nothing is removed here, and nothing is believed to have arrived before the hub's receipt. The
// file hub.json of the experiment's directory remembers what the hub has; it is written after the
// receipt, so that a crash in between sends a record again, which changes nothing. If it is lost,
// the hub is asked which records it has. A record is identified by machine, experiment, slot and
// attempt, never by a time: clocks may be wrong.
//
// Start reading at [Shipper.Ship].
package ship

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
)

// Limits of one request; the next one sends what is left.
const (
	batchBytes   = 8 << 20
	batchRecords = 500
	logBytes     = 64 << 10 // of the end of the log
)

// Shipper sends the records of the experiment in Directory to a hub.
type Shipper struct {
	Directory directory.Directory
	Client    *api.Client
	Name      string
	Status    api.Status
	Progress  api.Progress

	Brief  bool        // an experiment waits: Send gives a hub that does not answer a second only
	Online func() bool // does the network carry anything? Brief waits for it; nil: it does
}

// Shipment is what Ship has sent, and what the hub answered.
type Shipment struct {
	Sent    int        // records that the hub has confirmed, new to it or not
	Orders  api.Orders // what the machine is to do
	Deleted bool       // the experiment was deleted on the hub, which gets nothing of it any more
}

// Ship sends the records that the hub does not have, and the other files that have changed, in
// requests of bounded size. It ends with ctx; what the hub has confirmed until then is remembered.
// Several may run at the same time: the hub stores a record once.
//
// Of an experiment that was deleted on the hub, only the state of the machine is sent; one that was
// given by the hub is to stop then. An experiment that the hub does not know, because an older
// database was restored or the machine has joined under another name, is sent from its beginning.
func (x Shipper) Ship(ctx context.Context) (Shipment, error) {
	path := x.Directory.Hub()
	memory, err := Load(x.Directory.FS(), path, x.Client.URL)
	if err != nil {
		return Shipment{}, err
	}
	about, err := x.identify(&memory)
	if err != nil {
		return Shipment{}, err
	}
	if memory.Deleted {
		return x.onlyStatus(ctx)
	}
	result, err := x.ship(ctx, about, &memory)
	var answer *api.Error
	if !errors.As(err, &answer) || about.ID == "" {
		return result, err
	}
	switch answer.Status {
	case http.StatusGone:
		result.Deleted, memory.Deleted = true, true
		if memory.Given {
			result.Orders.Request = api.RequestStop
		}
		return result, memory.Store(x.Directory.FS(), path)
	case http.StatusNotFound:
		memory, about.ID = memory.empty(), ""
		return x.ship(ctx, about, &memory)
	}
	return result, err
}

// onlyStatus reports that the machine is busy with something that the hub does not want.
func (x Shipper) onlyStatus(ctx context.Context) (Shipment, error) {
	x.Status.Busy = true
	_, err := x.Client.Ship(ctx, api.Ship{Status: x.Status}, nil)
	return Shipment{Deleted: true}, err
}

func (x Shipper) ship(ctx context.Context, about api.ShippedExperiment, memory *Memory) (
	result Shipment, err error) {
	path := x.Directory.Hub()
	list, err := results.NewReader(x.Directory.FS(), x.Directory.Results()).List()
	if err != nil {
		return result, err
	}
	left := x.contents(list, *memory)
	if memory.Experiment == "" && len(list.Records)+len(list.Replaced) > 0 {
		if left, err = x.ask(ctx, &about, memory, list); err != nil {
			return result, err
		}
	}
	for first := true; first || len(left) > 0; first = false {
		part, rest, err := x.batch(left)
		if err != nil {
			return result, err
		}
		files, err := x.files(list.Replaced, *memory)
		if err != nil {
			return result, err
		}
		receipt, err := x.send(ctx, about, append(part, files...))
		if err != nil {
			return result, err
		}
		about.ID, memory.Experiment = receipt.Experiment, receipt.Experiment
		for _, c := range part {
			memory.Add(c.name)
		}
		for _, c := range files {
			memory.Files[c.Name] = c.Hash
		}
		if err := memory.Store(x.Directory.FS(), path); err != nil {
			return result, err
		}
		result.Sent += len(part)
		result.Orders = receipt.Orders
		left = rest
	}
	return result, nil
}

// identify returns what the hub is to know of the experiment. The memory is emptied if it is of
// another schedule: the experiment was begun anew in the same directory.
func (x Shipper) identify(m *Memory) (api.ShippedExperiment, error) {
	s, err := schedule.Open(x.Directory.FS(), x.Directory.Schedule(), false)
	if err != nil {
		return api.ShippedExperiment{}, err
	}
	h := s.Header()
	if err := s.Close(); err != nil {
		return api.ShippedExperiment{}, err
	}
	began, err := x.began(h)
	if err != nil {
		return api.ShippedExperiment{}, err
	}
	about := api.ShippedExperiment{Name: x.Name, ConfigHash: began, Created: h.Created,
		Seed: h.Seed, Progress: x.Progress}
	if m.Created != about.Created || m.Config != about.ConfigHash {
		given := m.Given && m.Created == "" // the hub gave it, and nothing was shipped yet
		id, begun := m.Experiment, m.Begun
		*m = Memory{Hub: m.Hub, Created: about.Created, Config: about.ConfigHash}.empty()
		if given {
			m.Experiment, m.Given, m.Begun = id, true, begun
		}
	}
	about.ID = m.Experiment
	return about, nil
}

// began returns the hash of the configuration that the experiment was begun with: it stays the same
// experiment of the hub when it grows.
func (x Shipper) began(h schedule.Header) (string, error) {
	editions, err := identity.LoadEditions(x.Directory.FS(), x.Directory.Editions())
	if errors.Is(err, fs.ErrNotExist) || err == nil && editions[0].Config == "" {
		return h.ConfigHash, nil
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(editions[0].Config))
	return hex.EncodeToString(sum[:]), nil
}

// content is an entry and where it is: in a file, or in memory.
type content struct {
	api.Entry
	name results.Name
	path string
	text []byte
}

// contents returns the records that the hub does not have, those that a rerun has replaced first.
func (x Shipper) contents(list results.Listing, m Memory) []content {
	var all []content
	add := func(n results.Name, file string) {
		if !m.Has(n) {
			all = append(all, content{name: n, path: filepath.Join(x.Directory.Results(), file),
				Entry: api.Entry{Slot: n.Slot, Attempt: n.Attempt}})
		}
	}
	for _, n := range list.Replaced {
		add(n, n.Replaced())
	}
	for _, n := range list.Records {
		add(n, n.String())
	}
	return all
}

// ask fills an empty memory: it asks the hub which experiment this is, and what it has of it.
func (x Shipper) ask(ctx context.Context, about *api.ShippedExperiment, m *Memory, list results.Listing) (
	[]content, error) {
	receipt, err := x.send(ctx, *about, nil)
	if err != nil {
		return nil, err
	}
	about.ID, m.Experiment = receipt.Experiment, receipt.Experiment
	for seq := int64(0); ; {
		have, err := x.Client.Have(ctx, about.ID, seq)
		if err != nil {
			return nil, err
		}
		if len(have) == 0 {
			return x.contents(list, *m), nil
		}
		for _, h := range have {
			m.Add(results.Name{Slot: h.Slot, Attempt: h.Attempt})
			seq = max(seq, h.Seq)
		}
	}
}

// batch returns the first contents, as many as fit in a request, with their hashes, and the rest.
func (x Shipper) batch(left []content) (part, rest []content, err error) {
	var size int64
	for i, c := range left {
		if i == batchRecords || size >= batchBytes {
			return part, left[i:], nil
		}
		if c.Hash, c.Size, err = hashOf(x.Directory.FS(), c.path); err != nil {
			return nil, nil, fmt.Errorf("read a record: %w", err)
		}
		size += c.Size
		part = append(part, c)
	}
	return part, nil, nil
}

func hashOf(fsys durable.FS, path string) (string, int64, error) {
	f, err := open(fsys, path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, api.MaxBlob+1))
	if err == nil && n > api.MaxBlob {
		err = fmt.Errorf("%s has more than %d bytes, the most that a hub accepts", path, api.MaxBlob)
	}
	return hex.EncodeToString(sum.Sum(nil)), n, err
}

// files returns the other files that have changed since the hub got them. They are read at once,
// because krund may be writing them.
func (x Shipper) files(replaced []results.Name, m Memory) ([]content, error) {
	var all []content
	for _, name := range api.FileNames() {
		text, err := x.read(name, replaced)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read what is shipped: %w", err)
		}
		sum := sha256.Sum256(text)
		hash := hex.EncodeToString(sum[:])
		if m.Files[name] != hash {
			all = append(all, content{text: text,
				Entry: api.Entry{Name: name, Hash: hash, Size: int64(len(text))}})
		}
	}
	return all, nil
}

func (x Shipper) read(name string, replaced []results.Name) ([]byte, error) {
	fsys, path := x.Directory.FS(), filepath.Join(x.Directory.Dir(), name)
	switch name {
	case api.FileReplaced:
		var lines strings.Builder
		for _, n := range replaced {
			lines.WriteString(n.String() + "\n")
		}
		return []byte(lines.String()), nil
	case api.FileLog:
		return tail(fsys, path, logBytes)
	}
	return durable.ReadSmallFile(fsys, path, api.MaxFile)
}

// tail returns at most the last n bytes of a file.
func tail(fsys durable.FS, path string, n int64) ([]byte, error) {
	f, err := open(fsys, path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-n), n))
}

// LastError returns the last error with which krund has ended, from the log of an experiment; "" if
// there is none.
func LastError(d directory.Directory) string {
	text, err := tail(d.FS(), d.Log(), logBytes)
	if err != nil {
		return ""
	}
	_, line, _ := strings.Cut(string(text[max(0, bytes.LastIndex(text, []byte(lastMessage))):]), lastMessage)
	line, _, _ = strings.Cut(line, "\n")
	_, value, _ := strings.Cut(line, " error=")
	if quoted, err := strconv.QuotedPrefix(value); err == nil {
		value, _ = strconv.Unquote(quoted)
	}
	return value
}

// lastMessage is what krund logs when it ends with an error.
const lastMessage = `msg="krund ended"`

func open(fsys durable.FS, path string) (durable.File, error) {
	return fsys.OpenFile(path, os.O_RDONLY, 0)
}

func (x Shipper) send(ctx context.Context, about api.ShippedExperiment, list []content) (api.Receipt, error) {
	message := api.Ship{Status: x.Status, Experiment: &about}
	for _, c := range list {
		message.Entries = append(message.Entries, c.Entry)
	}
	i := 0
	receipt, err := x.Client.Ship(ctx, message, func(api.Entry) (io.ReadCloser, error) {
		c := list[i]
		i++
		if c.path == "" {
			return io.NopCloser(bytes.NewReader(c.text)), nil
		}
		return open(x.Directory.FS(), c.path)
	})
	if err == nil && receipt.Experiment == "" {
		err = errors.New("the receipt names no experiment; is this the hub's address?")
	}
	return receipt, err
}

// briefly is how long the hub may take to answer between two executions.
const briefly = 900 * time.Millisecond

// Send is Ship, repeated as Try does until ctx ends. If x.Brief, a hub that does not answer a short
// message within a second gets nothing now, so that it does not hold up the experiment: a later
// shipment, or that of the idle machine, sends what is left.
func (x Shipper) Send(ctx context.Context, clock sysroot.Clock) (result Shipment, err error) {
	if x.Brief {
		if err := x.answers(ctx, clock); err != nil {
			return result, fmt.Errorf("the hub took no message within a second, and gets all later: %w", err)
		}
		return x.Ship(ctx)
	}
	sent := 0
	err = Try(ctx, clock, func(ctx context.Context) (err error) {
		result, err = x.Ship(ctx)
		sent += result.Sent
		return err
	})
	result.Sent = sent
	return result, err
}

// answers returns an error if the hub does not take a message now.
func (x Shipper) answers(ctx context.Context, clock sysroot.Clock) error {
	for x.Online != nil && !x.Online() {
		if err := clock.Sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("the network is down: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	x.Status.Busy = true
	_, err := x.Client.Ship(ctx, api.Ship{Status: x.Status}, nil)
	return err
}
