package results

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
)

// ErrVersion is returned for records written by a later krund.
var ErrVersion = errors.New("the record has a newer format; use the krunctl of the krund version that " +
	"wrote it")

// maxJSON bounds the decompressed size of a record, so that a damaged or hostile file cannot
// exhaust the memory. The largest legitimate records, with hundreds of columns and 100,000
// iterations, are smaller.
const maxJSON = 1 << 30

// plain is Record without its methods.
type plain Record

// fileJSON is the object in a record's file: the fields that Record stores in another form,
// followed by the others.
type fileJSON struct {
	Format    int    `json:"format"`
	Key       string `json:"key"`
	Benchmark string `json:"benchmark"`
	VM        string `json:"vm"`
	Variant   string `json:"variant"`
	Arm       string `json:"arm,omitempty"`
	plain
}

// inFile returns r in the form of its file.
func (r Record) inFile() fileJSON {
	r.Started = r.Started.UTC()
	return fileJSON{
		Format:    Format,
		Key:       r.Key.String(),
		Benchmark: r.Key.Benchmark,
		VM:        r.Key.VM,
		Variant:   r.Key.Variant,
		Arm:       r.Key.Arm,
		plain:     plain(r),
	}
}

// MarshalJSON encodes the object that the package documentation specifies.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(r.inFile()) }

// UnmarshalJSON decodes the output of MarshalJSON, of this format or an older one. It ignores
// unknown fields. The error is ErrVersion for a newer format, whatever else is wrong.
func (r *Record) UnmarshalJSON(text []byte) error {
	var j fileJSON
	err := json.Unmarshal(text, &j)
	if j.Format > Format {
		return fmt.Errorf("format %d, this program supports formats up to %d: %w", j.Format, Format,
			ErrVersion)
	}
	if err != nil {
		return err
	}
	if j.Format < 1 {
		return errors.New("not a record: it has no format number")
	}
	j.plain.Key = key.Key{Benchmark: j.Benchmark, VM: j.VM, Variant: j.Variant, Arm: j.Arm}
	if _, err := key.Parse(j.plain.Key.String()); err != nil {
		return err
	}
	if j.Key != j.plain.Key.String() {
		return fmt.Errorf("key %.200q does not match benchmark, vm, variant and arm %.200q", j.Key,
			j.plain.Key)
	}
	j.plain.Started = j.plain.Started.UTC()
	if year := j.plain.Started.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("started in the year %d", year)
	}
	*r = Record(j.plain)
	return nil
}

// writers keeps writers for reuse: each has 800 KB of tables.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Encode returns the bytes of a record's file. It is deterministic: the gzip header contains no
// time and no name.
func Encode(r Record) ([]byte, error) {
	var packed bytes.Buffer
	zip := writers.Get().(*gzip.Writer)
	defer writers.Put(zip)
	zip.Reset(&packed)
	if err := errors.Join(EncodeJSON(zip, r), zip.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// EncodeJSON writes r on one line, without escaping "<" as "\u003c". The error is ErrTooLarge or
// one of to.
func EncodeJSON(to io.Writer, r Record) error {
	enc := json.NewEncoder(&bounded{to: to, left: maxJSON})
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.inFile()); err != nil {
		return fmt.Errorf("encode the record of slot %d, attempt %d: %w", r.Slot, r.Attempt, err)
	}
	return nil
}

// Decode decodes the bytes of a record's file. The error says what is wrong with them, and may be
// ErrVersion.
func Decode(packed []byte) (Record, error) {
	text, err := decompress(packed)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, explain(err)
	}
	return r, nil
}

// Copy writes the document in a record's file, which Decode accepts, to w unchanged.
func Copy(w io.Writer, packed []byte) error {
	text, err := decompress(packed)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// formatOf parses the format number at the beginning of a record's file.
func formatOf(packed io.Reader) (int, error) {
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return 0, explain(err)
	}
	start := make([]byte, len(`{"format":`)+len("1234567,"))
	n, err := io.ReadFull(zip, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, explain(err)
	}
	var format int
	if _, err := fmt.Sscanf(string(start[:n]), `{"format":%d,`, &format); err != nil || format < 1 {
		return 0, errors.New("not a record: it does not begin with a format number")
	}
	return format, nil
}

// decompress accepts exactly one gzip member.
func decompress(packed []byte) ([]byte, error) {
	rest := durable.NewPackedInput(bytes.NewReader(packed), int64(len(packed)))
	zip, err := gzip.NewReader(rest)
	if err != nil {
		return nil, explain(err)
	}
	zip.Multistream(false)
	buffer := bytes.NewBuffer(make([]byte, 0, unpackedSize(packed)))
	if _, err := buffer.ReadFrom(rest.Bound(zip, maxJSON)); err != nil {
		return nil, explain(err)
	}
	if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.New("damaged: there are bytes after the end of the record")
	}
	return buffer.Bytes(), nil
}

// unpackedSize returns the size according to the gzip trailer, plus the room that a buffer needs to
// find the end, so that a long series is not copied during decompression. A damaged or hostile file
// may contain any number, so the actual size is bounded while reading.
func unpackedSize(packed []byte) int {
	const trailer = 4
	if len(packed) < trailer {
		return 0
	}
	size := int(binary.LittleEndian.Uint32(packed[len(packed)-trailer:]))
	return min(size, max(durable.UnpackRatio*len(packed), 1<<20), maxJSON) + bytes.MinRead
}

// explain translates the libraries' errors into what they mean for the file.
func explain(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, ErrVersion):
		return err
	case errors.Is(err, io.EOF):
		return errors.New("damaged: the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("damaged: the file is truncated")
	case errors.Is(err, gzip.ErrHeader):
		return errors.New("damaged: not a gzip file")
	case errors.Is(err, gzip.ErrChecksum):
		return errors.New("damaged: the checksum is wrong")
	case errors.As(err, &syntax):
		return fmt.Errorf("damaged: not JSON at byte %d: %w", syntax.Offset, err)
	}
	const most = 1000 // bytes of an error that quotes the file
	return errors.New("damaged: " + display.Clip(err.Error(), most))
}

// ErrTooLarge is returned by Append for a record that readers would reject.
var ErrTooLarge = errors.New(
	"the record is too large to be read; measure fewer iterations or fewer counters",
)

// Bounds of a record's contents other than the series, because leftovers of a benchmark and kernel
// messages can be much more than anyone reads.
const (
	mostSentences = 200 // in a list
	sentenceBytes = 64 << 10
	mostLogLines  = 1000
	logBytes      = 256 << 10
	mostEvents    = 1 << 17          // up to 350 bytes each; the process reports at most half of them
	mostSeries    = maxJSON - 64<<20 // leaves room for everything else
)

// Bounded returns r with bounded lists of sentences and free texts, so that it can be stored and
// read. The end of a truncated list states how much was left out. A record whose series are too
// large becomes an error without them.
func (r Record) Bounded() Record {
	if r.seriesBytes() > mostSeries {
		r.StartNS, r.WallNS, r.Columns, r.Outcome = nil, nil, nil, Error
		r.Reasons = append([]string{ErrTooLarge.Error() + "; the series were left out"}, r.Reasons...)
	}
	return r.boundedTexts()
}

func (r Record) boundedTexts() Record {
	sentences := func(list []string) []string { return display.ClipLines(list, mostSentences, sentenceBytes) }
	r.Reasons = sentences(r.Reasons)
	r.CounterReason = display.Clip(r.CounterReason, display.MaxMessage)
	r.Process.Findings = sentences(r.Process.Findings)
	r.Process.CgroupReason = display.Clip(r.Process.CgroupReason, display.MaxMessage)
	if f := r.Process.NotStarted; f != nil {
		r.Process.NotStarted = &StartFailure{Step: f.Step, Errno: f.Errno, Text: display.Clip(f.Text,
			display.MaxMessage)}
	}
	if r.Library != nil {
		library := *r.Library
		library.Error, library.Findings = display.Clip(library.Error, display.MaxMessage),
			sentences(library.Findings)
		r.Library = &library
	}
	if n := len(r.Events) - mostEvents; n > 0 {
		r.Events, r.EventsLost = r.Events[:mostEvents], r.EventsLost+n
	}
	if r.Watcher != nil {
		watcher := *r.Watcher
		watcher.Problem = display.Clip(watcher.Problem, display.MaxMessage)
		r.Watcher = &watcher
	}
	r.Machine.KernelLog.Lines = display.ClipLines(r.Machine.KernelLog.Lines, mostLogLines, logBytes)
	return r
}

// seriesBytes returns the size in bytes of the series' values as JSON. It counts up to mostSeries,
// and only if there are enough values to exceed it.
func (r Record) seriesBytes() int {
	values := len(r.StartNS) + len(r.WallNS)
	for _, c := range r.Columns {
		values += len(c.Values) + len(c.Counts)
	}
	const longest = len("-9223372036854775808,")
	if values <= mostSeries/longest {
		return values * longest // an upper bound, which suffices here
	}
	size := digits(r.StartNS, 0)
	size = digits(r.WallNS, size)
	for _, c := range r.Columns {
		size = digits(c.Values, size)
		size = digits(c.Counts, size)
	}
	return size
}

// digits adds the size of a list's values to size, with a comma each.
func digits[T int64 | uint64](list []T, size int) int {
	text := make([]byte, 0, len("-9223372036854775808"))
	for _, v := range list {
		if size > mostSeries {
			break
		}
		if v >= 0 {
			text = strconv.AppendUint(text[:0], uint64(v), 10)
		} else {
			text = strconv.AppendInt(text[:0], int64(v), 10)
		}
		size += len(text) + 1
	}
	return size
}

// bounded is a writer that accepts at most left more bytes.
type bounded struct {
	to   io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, ErrTooLarge
	}
	return b.to.Write(p)
}
