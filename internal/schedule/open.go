package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"krund/internal/durable"
)

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
