// Package external parses the output of an external suite: a program that measures its iterations
// itself and does not use libkrun. The protocol is Krun's. The suite is called with benchmark name,
// number of iterations, parameter and a flag, and prints one JSON object to stdout:
//
//	{"wallclock_times": [0.25, 0.125], "core_cycle_counts": [[9, 5], [8, 4]],
//	 "aperf_counts": [[7, 3], [6, 2]], "mperf_counts": [[7, 3], [6, 2]]}
//
// wallclock_times contains the seconds of each iteration. The counts contain one list per core with
// one number per iteration, or are empty. There must be exactly these four keys.
//
// A [Reader] takes the text in chunks as it arrives from the pipe and stores only numbers: its
// memory use does not depend on how much a suite prints. It is strict and accepts only complete and
// consistent output. It never runs or repairs anything. Whether the times are plausible is decided
// by krund's verdict, which knows the lifetime of the process. Start reading at [Reader].
package external

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// keys of the object. All of them are required.
var keys = [...]string{"wallclock_times", "core_cycle_counts", "aperf_counts", "mperf_counts"}

// The limits of what a suite may print. Legitimate suites stay far below: 2000 iterations with
// three counts on 128 cores are 768,000 counts and 16 MB.
const (
	MaxBytes  = 256 << 20 // on stdout, white space included
	MaxCounts = 1 << 21   // total number of counts
	maxCores  = 8192      // the maximum that Linux supports
	maxToken  = 64        // characters of a number or key
)

// mostShown is how many bytes of its output a message quotes.
const mostShown = 60

// maxSeconds bounds an iteration: 146 years in nanoseconds fit an int64.
const maxSeconds = float64(1<<62) / 1e9

// Result is the measurement of an external suite.
type Result struct {
	WallNS     []int64    // [iteration], nanoseconds, rounded to the nearest
	CoreCycles [][]uint64 // [core][iteration]; nil when not measured
	APERF      [][]uint64 // [core][iteration]; nil when not measured
	MPERF      [][]uint64 // [core][iteration]; nil when not measured
}

// Cores returns the number of cores with counts, 0 if there are none.
func (r Result) Cores() int { return max(len(r.CoreCycles), len(r.APERF), len(r.MPERF)) }

// Reader reads the stdout of one suite in chunks. It is an io.Writer that never fails: Result
// returns the error, and the rest of the output is skipped.
type Reader struct {
	text   *io.PipeWriter
	parsed chan struct{} // closed when result and err are there
	result Result
	err    error
}

// NewReader returns a Reader for a suite that was asked for a number of iterations. Its Result must
// be called, also if it is not needed.
func NewReader(iterations int) *Reader {
	from, to := io.Pipe()
	r := &Reader{text: to, parsed: make(chan struct{})}
	go func() {
		r.result, r.err = parse(from, iterations)
		_ = from.Close() // always nil; Write skips the rest
		close(r.parsed)
	}()
	return r
}

// Write reads the next chunk. It does not keep it, and returns no error.
func (r *Reader) Write(p []byte) (int, error) {
	_, _ = r.text.Write(p) // fails after the end of parse
	return len(p), nil
}

// Result ends the input and returns the result. The error tells the author of the suite what is
// wrong and where.
func (r *Reader) Result() (Result, error) {
	_ = r.text.Close() // always nil
	<-r.parsed
	return r.result, r.err
}

// parser reads one JSON object from stdout. It allocates the lists of numbers, each at once in its
// full size, and nothing else: krund collects no garbage while a benchmark runs.
type parser struct {
	in         *bufio.Reader
	limit      *io.LimitedReader
	iterations int
	walls      []int64
	counts     [3][][]uint64
	total      int // of the counts
	token      [maxToken]byte
}

var errTooLong = fmt.Errorf("more than %d MB on stdout; want one JSON object (print everything else to "+
	"stderr)", MaxBytes>>20)

func parse(stdout io.Reader, iterations int) (Result, error) {
	limit := &io.LimitedReader{R: stdout, N: MaxBytes + 1}
	p := parser{in: bufio.NewReader(limit), limit: limit, iterations: max(iterations, 0)}
	switch begin, err := p.next(); {
	case errors.Is(err, io.EOF):
		return Result{}, errors.New("nothing on stdout; want one JSON object")
	case err != nil:
		return Result{}, err
	case begin != '{':
		return Result{}, fmt.Errorf("stdout begins with %s; want one JSON object and nothing before it "+
			"(print everything else to stderr)", p.line())
	}
	if err := p.object(); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is incomplete (was the output truncated?)")
		}
		return Result{}, fmt.Errorf("the JSON object on stdout, at byte %d: %w",
			MaxBytes+1-limit.N-int64(p.in.Buffered()), err)
	}
	if _, err := p.next(); err == nil {
		return Result{}, fmt.Errorf("stdout continues with %s after the JSON object; want nothing there "+
			"(print everything else to stderr)", p.line())
	} else if !errors.Is(err, io.EOF) {
		return Result{}, err
	}
	return Result{WallNS: p.walls, CoreCycles: p.counts[0], APERF: p.counts[1], MPERF: p.counts[2]}, nil
}

// line returns the beginning of the rest of the line, for a message.
func (p *parser) line() string {
	text, _ := p.in.Peek(mostShown) // fewer at the end
	if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
		text = text[:end]
	}
	return strconv.Quote(string(text))
}

// next skips white space and returns the byte after it, which is still to be read.
func (p *parser) next() (byte, error) {
	for {
		c, err := p.in.ReadByte()
		if err != nil && p.limit.N <= 0 {
			err = errTooLong
		}
		if err != nil || !space(c) {
			_ = p.in.UnreadByte() // succeeds after ReadByte
			return c, err
		}
	}
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// take reads the next byte, which must be one of these.
func (p *parser) take(these string) (byte, error) {
	c, err := p.next()
	if err == nil && strings.IndexByte(these, c) < 0 {
		err = fmt.Errorf("%q is not allowed here", c)
	}
	if err == nil {
		_, err = p.in.Discard(1)
	}
	return c, err
}

// word reads a key or a number, up to white space or to what may follow it. The text is valid until
// the next call.
func (p *parser) word() ([]byte, error) {
	if _, err := p.next(); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		c, err := p.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if space(c) || strings.IndexByte(",:]}", c) >= 0 {
			return p.token[:n], p.in.UnreadByte()
		}
		if n == maxToken {
			return nil, fmt.Errorf("%s... has more than %d characters", quote(p.token[:]), maxToken)
		}
		p.token[n] = c
	}
}

// items reads what stands between two brackets with commas in between, each item by a function that
// gets the index.
func (p *parser) items(brackets string, item func(i int) error) (n int, err error) {
	_, err = p.take(brackets[:1])
	end := brackets[1]
	if c, unread := p.next(); err == nil && unread == nil && c == end {
		_, err = p.in.Discard(1)
		return 0, err
	}
	for c := byte(','); err == nil && c != end; n++ {
		if err = item(n); err == nil {
			c, err = p.take("," + brackets[1:])
		}
	}
	return n, err
}

// object reads the whole object.
func (p *parser) object() error {
	var seen [len(keys)]bool
	_, err := p.items("{}", func(int) error {
		i, err := p.key()
		switch {
		case err != nil:
			return err
		case seen[i]:
			return fmt.Errorf("key %s occurs twice", keys[i])
		}
		if seen[i] = true; i == 0 {
			return p.times()
		}
		return p.cores(keys[i], &p.counts[i-1])
	})
	if err != nil {
		return err
	}
	var missing []string
	cores := max(len(p.counts[0]), len(p.counts[1]), len(p.counts[2]))
	for i, key := range keys {
		if !seen[i] {
			missing = append(missing, key)
		} else if i > 0 && len(p.counts[i-1]) != 0 && len(p.counts[i-1]) != cores {
			return fmt.Errorf("%s has %d cores, another count has %d; all must have the same cores or be "+
				"empty", key, len(p.counts[i-1]), cores)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it lacks %s", strings.Join(missing, ", "))
	}
	return nil
}

// key reads a key and the colon, and returns the index of the key.
func (p *parser) key() (int, error) {
	word, err := p.word()
	if err != nil {
		return 0, err
	}
	for i, key := range keys {
		if len(word) == len(key)+2 && word[0] == '"' && string(word[1:len(word)-1]) == key {
			_, err := p.take(":")
			return i, err
		}
	}
	return 0, fmt.Errorf("unknown key %s; want exactly %s", quote(bytes.Trim(word, `"`)),
		strings.Join(keys[:], ", "))
}

// list is items of a list.
func (p *parser) list(name string, item func(i int) error) (n int, err error) {
	if c, err := p.next(); err == nil && c != '[' {
		return 0, fmt.Errorf("%s must contain a list, [] if it was not measured, not %s", name, p.line())
	}
	return p.items("[]", item)
}

// numbers reads a list with a number for each iteration. Excess ones are only counted.
func numbers[T any](p *parser, name, want string, parse func([]byte) (T, error)) ([]T, error) {
	list := make([]T, 0, p.iterations)
	n, err := p.list(name, func(i int) error {
		word, err := p.word()
		if err != nil {
			return err
		}
		v, err := parse(word)
		if err != nil || !json.Valid(word) {
			return fmt.Errorf("%s[%d] is %s; want %s, 0 or more", name, i, quote(word), want)
		}
		if i < p.iterations {
			list = append(list, v)
		}
		return nil
	})
	if err == nil && n != p.iterations {
		err = fmt.Errorf("%s has %d numbers for %d iterations", name, n, p.iterations)
	}
	return list, err
}

// times reads the list of wall times.
func (p *parser) times() (err error) {
	p.walls, err = numbers(p, keys[0], "seconds", func(text []byte) (int64, error) {
		seconds, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !(seconds >= 0 && seconds <= maxSeconds) {
			return 0, strconv.ErrRange
		}
		return int64(math.Round(seconds * 1e9)), nil
	})
	return err
}

// cores reads a list of lists of counts, one for each core.
func (p *parser) cores(name string, all *[][]uint64) error {
	_, err := p.list(name, func(core int) error {
		switch p.total += p.iterations; {
		case core == maxCores:
			return fmt.Errorf("%s has more than %d cores", name, maxCores)
		case p.total > MaxCounts:
			return fmt.Errorf("more than %d counts in total; leave some of the lists empty, "+
				"or ask for fewer iterations", MaxCounts)
		}
		counts, err := numbers(p, fmt.Sprintf("%s[%d]", name, core), "a whole number of 64 bits",
			func(text []byte) (uint64, error) { return strconv.ParseUint(string(text), 10, 64) })
		*all = append(*all, counts)
		return err
	})
	return err
}

func quote(text []byte) string { return strconv.Quote(string(text[:min(len(text), mostShown)])) }
