package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Version is the version of the format that this package writes, and the highest one that it reads.
const Version = 1

// Flag is the state of a slot.
type Flag byte

// The flags, as stored in the file.
const (
	Outstanding Flag = 'O' // yet to run
	Running     Flag = 'R' // begun; after a crash: begun but not finished
	Completed   Flag = 'C'
	Error       Flag = 'E'
	Timeout     Flag = 'T'
	Skipped     Flag = 'S'
)

// Known reports whether f is one of the flags above.
func (f Flag) Known() bool { return strings.IndexByte("ORCETS", byte(f)) >= 0 }

// Final reports whether a slot with this flag is finished.
func (f Flag) Final() bool { return f.Known() && f != Outstanding && f != Running }

// String returns the flag in words.
func (f Flag) String() string {
	words := map[Flag]string{Outstanding: "outstanding", Running: "running", Completed: "completed",
		Error: "error", Timeout: "timeout", Skipped: "skipped"}
	if text, known := words[f]; known {
		return text
	}
	return fmt.Sprintf("flag %q", byte(f))
}

// Slot is one planned process execution.
type Slot struct {
	Index    int // position in the schedule, from 0, in execution order
	Flag     Flag
	Attempts int // attempts begun, 0 to MaxAttempts
	Pexec    int // number of the process execution among those of Key, from 1
	Key      key.Key
}

// Limits of what the file can hold.
const (
	MaxAttempts = 999
	MaxPexec    = 9_999_999
	MaxSlots    = 999_999_999
)

// Header is the data of the schedule other than its slots.
//
// Create uses ConfigHash, Created, Order, Seed, Sensors and, if already known, Reboots, Mails, Boot
// and BaseTemperatures, and sets the other fields. UpdateHeader may change the four fields Reboots,
// Mails, Boot and BaseTemperatures.
type Header struct {
	Version    int    // version of the format
	Generation uint64 // grows with every update
	Sectors    int    // of 512 bytes, in each of the two copies
	Slots      int    // number of slots
	Width      int    // bytes of a slot's line: 128, 256 or 512
	Next       int    // from an earlier version: no slot before it was unfinished; now 0, and not used

	Reboots int // requested reboots
	Mails   int // mails sent

	Order      string // RoundRobin or Interleaved
	Seed       uint64 // seed of the order
	ConfigHash string // hash of the configuration's text
	Created    string // time in RFC 3339
	Boot       string // boot in which the last attempt was begun or the schedule was created; "" if unknown

	// Sensors is the number of base temperatures for which Create reserves room, 128 bytes each.
	// There is always room for one or two. It is not stored.
	Sensors          int
	BaseTemperatures []results.Temperature // nil if not yet measured
}

// SpareSensors is the minimum number of base temperatures for which a schedule has room, so that
// they can be stored if the machine, or a later kernel, has more sensors than were found at first.
const SpareSensors = 8

// ErrDone is the error if every slot is finished.
var ErrDone = errors.New("every slot of the schedule is finished")

// ErrHeaders is the error if neither copy of the header can be read.
var ErrHeaders = errors.New("both copies of the schedule's header are damaged; `krunctl repair` rebuilds " +
	"it from the results")

// ErrVersion is the error for schedules created by a later krund.
var ErrVersion = errors.New("the schedule has a newer format; use the krund and krunctl that created it")

// ErrReadOnly is the error if a schedule that was opened for reading is changed.
var ErrReadOnly = errors.New("the schedule is open for reading only")

// ErrRoom is the error if base temperatures do not fit into the header, whose size was fixed when
// the schedule was created.
var ErrRoom = errors.New("no room in the schedule's header")

// DamagedSlot is the error for a slot whose line is damaged. Its state is unknown; other slots are
// not affected.
type DamagedSlot struct {
	Index  int
	Reason string
}

func (e *DamagedSlot) Error() string {
	return fmt.Sprintf("slot %d of the schedule is damaged (%s); `krunctl repair` rebuilds it from the "+
		"results", e.Index, e.Reason)
}

// SizeError is the error for a file that was truncated or extended. Slots with a correct checksum
// are still valid.
type SizeError struct {
	Have, Want int64 // bytes
}

func (e *SizeError) Error() string {
	what := "extended"
	if e.Have < e.Want {
		what = "truncated"
	}
	return fmt.Sprintf("the schedule was %s: its size is %d bytes instead of %d; `krunctl repair` rebuilds "+
		"it from the results", what, e.Have, e.Want)
}

// FlagOf returns the flag of a slot whose latest attempt ended with outcome o. A rerun, or an
// outcome unknown to this version, leaves the slot Outstanding: running it once more is better than
// counting an unknown outcome.
func FlagOf(o results.Outcome) Flag {
	switch o {
	case results.Completed:
		return Completed
	case results.Error:
		return Error
	case results.Timeout:
		return Timeout
	}
	return Outstanding
}

// Schedule is an open schedule. Its memory use does not depend on the number of slots. It is not
// safe for concurrent use by goroutines. Several processes may read while one writes (package
// directory has the lock that ensures a single writer).
type Schedule struct {
	file     durable.File
	writable bool

	header  Header
	current copyID // where header was read from
	damage  error  // what is wrong with the other copy

	next    int // every slot before it was found to be finished
	decoder slotDecoder
}

// Open opens the schedule at path, for writing if write is set. It reads only the header. A damaged
// copy of the header is ignored, and the next update replaces it.
//
// The error is ErrHeaders, ErrVersion, a *SizeError, or an error of the file system: fs.ErrNotExist
// if the experiment was never started.
func Open(fsys durable.FS, path string, write bool) (*Schedule, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := fsys.OpenFile(path, flag, 0)
	if err != nil {
		return nil, fmt.Errorf("open the schedule: %w", err)
	}
	s := &Schedule{file: f, writable: write}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return s, nil
}

// load reads the header and compares it with the size of the file.
func (s *Schedule) load() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	found, err := readHeaders(s.file)
	if err != nil {
		return err
	}
	if s.current, err = found.best(); err != nil {
		return err
	}
	s.header, s.damage = found.header[s.current], found.damage[s.current.other()]
	if want := s.header.fileBytes(); info.Size() != want {
		return &SizeError{Have: info.Size(), Want: want}
	}
	return nil
}

// Close closes the file. All updates are already written.
func (s *Schedule) Close() error { return s.file.Close() }

// Header returns the header. The list of temperatures belongs to the caller.
func (s *Schedule) Header() Header {
	h := s.header
	h.BaseTemperatures = slices.Clone(h.BaseTemperatures)
	return h
}

// HeaderDamage returns why one of the two copies of the header could not be read when the schedule
// was opened, or nil if both could. The next update of the header repairs it.
func (s *Schedule) HeaderDamage() error { return s.damage }

// headers holds both copies as read, each with its header or its damage.
type headers struct {
	header [copies]Header
	damage [copies]error
	newer  [copies]bool
	remark string // what the file contains instead of the headers
}

// best returns the valid copy with the highest generation, or A if they are equal.
func (h headers) best() (copyID, error) {
	a, b := h.damage[copyA] == nil, h.damage[copyB] == nil
	switch {
	case a && (!b || h.header[copyA].Generation >= h.header[copyB].Generation):
		return copyA, nil
	case b:
		return copyB, nil
	case h.newer[copyA] || h.newer[copyB]:
		return 0, ErrVersion
	}
	if h.remark != "" {
		return 0, fmt.Errorf("%w (%s)", ErrHeaders, h.remark)
	}
	return 0, fmt.Errorf("%w (%w, %w)", ErrHeaders, h.damage[copyA], h.damage[copyB])
}

// tries is how often data that looks damaged is read again, because krund may be writing it.
const tries = 3

// readHeaders reads both copies. The error is about reading, not about the contents.
func readHeaders(f durable.File) (headers, error) {
	for try := 1; ; try++ {
		h, err := readHeadersOnce(f)
		if err != nil || try == tries || h.damage == [copies]error{} {
			return h, err
		}
	}
}

func readHeadersOnce(f durable.File) (headers, error) {
	var found headers
	start := make([]byte, copies*sectorBytes)
	n, err := readAt(f, start, 0)
	if err != nil {
		return headers{}, err
	}
	switch {
	case n == 0:
		found.remark = "the file is empty"
	case allZero(start):
		found.remark = "they are filled with zeros"
	case !bytes.Contains(start, []byte(magic)):
		found.remark = "this is not a schedule"
	}
	for c := range copyID(copies) {
		first := start[c.first():][:sectorBytes]
		found.newer[c] = isNewer(first)
		text, err := readCopy(f, first, c)
		if err != nil {
			return headers{}, err
		}
		h, err := decodeHeader(text, c)
		if err != nil {
			found.damage[c] = fmt.Errorf("copy %s of the schedule's header is damaged: %w", c, err)
		}
		found.header[c] = h
	}
	return found, nil
}

// readCopy returns all sectors of a copy, given its first one. It returns nothing if the first
// sector does not contain their number.
func readCopy(f durable.File, first []byte, c copyID) ([]byte, error) {
	sectors := sectorsOf(first)
	if sectors < 1 {
		return nil, nil
	}
	text := make([]byte, sectors*sectorBytes)
	copy(text, first)
	_, err := readAt(f, text[sectorBytes:], c.rest(sectors))
	return text, err
}

// readAt reads into p from offset to at most the end of the file and leaves the rest of p
// unchanged. The end of the file is no error.
func readAt(f durable.File, p []byte, offset int64) (int, error) {
	n, err := f.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("read the schedule: %w", err)
	}
	return n, nil
}
