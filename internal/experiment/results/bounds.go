package results

import (
	"errors"
	"io"
	"strconv"

	"krund/internal/display"
)

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
