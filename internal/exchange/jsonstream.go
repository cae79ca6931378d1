package exchange

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// jsonStream parses JSON values in sequence without holding the text in memory, because results
// files have up to a hundred million numbers. It accepts the output of Python's json module, which
// is JSON with the additional numbers NaN, Infinity and -Infinity.
//
// Errors are sticky: after the first one every call does nothing and returns zero values, and err
// returns it with the offset.
type jsonStream struct {
	from    io.Reader
	buffer  []byte // unread text is buffer[at:]
	at      int
	used    int64 // number of bytes before buffer
	err     error
	depth   int
	scratch []byte
}

// jsonDepth limits the nesting of values; results files have five levels.
const jsonDepth = 64

func newJSONStream(r io.Reader) *jsonStream {
	return &jsonStream{from: r, buffer: make([]byte, 0, 1<<16)}
}

func (s *jsonStream) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %w", s.used+int64(s.at), fmt.Errorf(format, args...))
	}
}

// peek returns the next byte without consuming it; 0 at the end or after an error.
func (s *jsonStream) peek() byte {
	if s.at == len(s.buffer) && !s.refill() {
		return 0
	}
	return s.buffer[s.at]
}

func (s *jsonStream) refill() bool {
	if s.err != nil {
		return false
	}
	s.used += int64(len(s.buffer))
	s.at = 0
	n, err := 0, error(nil)
	for n == 0 && err == nil {
		n, err = s.from.Read(s.buffer[:cap(s.buffer)])
	}
	s.buffer = s.buffer[:n]
	if n == 0 && !errors.Is(err, io.EOF) {
		s.fail("%w", err)
	}
	return n > 0
}

// space skips white space and peeks at the next byte.
func (s *jsonStream) space() byte {
	for {
		switch c := s.peek(); c {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return c
		}
	}
}

// expect consumes one byte, which must be c.
func (s *jsonStream) expect(c byte) bool {
	if got := s.space(); got != c || s.err != nil {
		s.fail("%s instead of %q", describeByte(got), c)
		return false
	}
	s.at++
	return true
}

func describeByte(c byte) string {
	if c == 0 {
		return "the end"
	}
	return strconv.QuoteRune(rune(c))
}

// end fails if anything except white space follows.
func (s *jsonStream) end() {
	if c := s.space(); c != 0 || s.err == nil && s.at < len(s.buffer) {
		s.fail("%s after the end of the value", describeByte(c))
	}
}

// object calls member for each name of an object; member must consume the value.
func (s *jsonStream) object(member func(name string)) {
	s.list('{', '}', func() {
		name := s.text()
		if s.expect(':') {
			member(name)
		}
	})
}

// array calls element for each element, which it must consume.
func (s *jsonStream) array(element func()) { s.list('[', ']', element) }

func (s *jsonStream) list(open, closing byte, item func()) {
	if !s.expect(open) {
		return
	}
	if s.depth++; s.depth > jsonDepth {
		s.fail("values nest deeper than %d", jsonDepth)
	}
	if s.space() == closing {
		s.at++
		s.depth--
		return
	}
	for s.err == nil {
		item()
		if s.space() == closing && s.err == nil {
			s.at++
			s.depth--
			return
		}
		s.expect(',')
	}
}

// null consumes a null and reports whether there was one.
func (s *jsonStream) null() bool {
	if s.space() != 'n' {
		return false
	}
	if word := s.word(); string(word) != "null" {
		s.fail("%q is not a value", word)
	}
	return s.err == nil
}

// word consumes letters, digits and the other characters of numbers. The result is valid until the
// next call.
func (s *jsonStream) word() []byte {
	s.scratch = s.scratch[:0]
	for {
		c := s.peek()
		if c < '+' || c > 'z' || !inWord[c] || len(s.scratch) > maxWord {
			return s.scratch
		}
		s.scratch = append(s.scratch, c)
		s.at++
	}
}

// maxWord exceeds the length of any number that Python or krund writes.
const maxWord = 400

var inWord = func() (set ['z' + 1]bool) {
	for c := range set {
		b := byte(c)
		set[c] = b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '+' ||
			b == '-' || b == '.'
	}
	return set
}()

// realOrNull is real, but returns NaN for a null, which is a missing value.
func (s *jsonStream) realOrNull() float64 {
	if s.null() {
		return math.NaN()
	}
	return s.real()
}

// real consumes a number, including NaN, Infinity and -Infinity.
func (s *jsonStream) real() float64 {
	if c := s.space(); c == '"' || c == '[' || c == '{' {
		s.fail("%s instead of a number", describeByte(c))
		return 0
	}
	word := s.word()
	v, err := strconv.ParseFloat(string(word), 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // an infinity or zero, which the analysis reports
	}
	if err != nil || !numeric(word) {
		s.fail("%q is not a number", word)
		return 0
	}
	return v
}

// numeric reports whether word looks like a number of JSON or Python. It excludes other forms that
// ParseFloat accepts: hexadecimal, underscores, "inf", a leading plus sign.
func numeric(word []byte) bool {
	switch string(word) {
	case "NaN", "Infinity", "-Infinity":
		return true
	case "":
		return false
	}
	if word[0] == '-' {
		word = word[1:]
	}
	for _, c := range word {
		if c >= 'a' && c != 'e' || c >= 'A' && c <= 'Z' && c != 'E' {
			return false
		}
	}
	return len(word) > 0 && word[0] >= '0' && word[0] <= '9'
}

// count consumes an integer from 0 to 2^64-1; "5.0" is allowed.
func (s *jsonStream) count() uint64 {
	s.space()
	word := s.word()
	if v, err := strconv.ParseUint(string(word), 10, 64); err == nil {
		return v
	}
	v, err := strconv.ParseFloat(string(word), 64)
	if err != nil || !numeric(word) || v != float64(uint64(v)) || v < 0 || v >= 1<<64 {
		s.fail("%q is not a count from 0 to 2^64-1", word)
		return 0
	}
	return uint64(v)
}

// skip consumes any value.
func (s *jsonStream) skip() {
	switch c := s.space(); c {
	case '{':
		s.object(func(string) { s.skip() })
	case '[':
		s.array(s.skip)
	case '"':
		s.text()
	case 0:
		s.fail("the end instead of a value")
	default:
		switch word := s.word(); string(word) {
		case "true", "false", "null":
		default:
			if _, err := strconv.ParseFloat(string(word), 64); (err != nil &&
				!errors.Is(err, strconv.ErrRange)) || !numeric(word) {
				s.fail("%q is not a value", word)
			}
		}
	}
}
