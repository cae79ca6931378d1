package exchange

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// pythonJSON reads the output of Python's json module as JSON: NaN becomes null, and Infinity a
// number that is too large.
type pythonJSON struct {
	from     *bufio.Reader
	inString bool
	escaped  bool
	ahead    string // of a replaced word
}

func (p *pythonJSON) Read(buffer []byte) (n int, err error) {
	for n < len(buffer) {
		if p.ahead != "" {
			moved := copy(buffer[n:], p.ahead)
			n, p.ahead = n+moved, p.ahead[moved:]
			continue
		}
		if n > 0 && p.from.Buffered() == 0 {
			return n, nil
		}
		c, err := p.from.ReadByte()
		if err != nil {
			return n, err
		}
		switch {
		case p.escaped:
			p.escaped = false
		case p.inString && c == '\\':
			p.escaped = true
		case c == '"':
			p.inString = !p.inString
		case !p.inString && c == 'N' && p.follows("aN"):
			c, p.ahead = 'n', "ull"
		case !p.inString && c == 'I' && p.follows("nfinity"):
			c, p.ahead = '1', "e999"
		}
		buffer[n] = c
		n++
	}
	return n, nil
}

// follows consumes the rest of a word if it is next.
func (p *pythonJSON) follows(rest string) bool {
	next, _ := p.from.Peek(len(rest)) // less at the end
	if string(next) != rest {
		return false
	}
	_, err := p.from.Discard(len(rest))
	return err == nil
}

// jsonStream reads a value member by member, because results files have up to a hundred million
// numbers. Errors are sticky: after the first one every call does nothing.
type jsonStream struct {
	*json.Decoder
	err error
}

func (s *jsonStream) fail(err error) {
	if s.err == nil && err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		s.err = fmt.Errorf("byte %d: %w", s.InputOffset(), err)
	}
}

// value reads the next value.
func (s *jsonStream) value(v any) {
	if s.err == nil {
		s.fail(s.Decode(v))
	}
}

// object calls member for each name of an object; member must consume the value.
func (s *jsonStream) object(member func(name string)) {
	if t := s.token(); t != json.Delim('{') && s.err == nil {
		s.fail(fmt.Errorf("%v instead of {", t))
	}
	for s.err == nil && s.More() {
		name, _ := s.token().(string)
		member(name)
	}
	s.token()
}

func (s *jsonStream) token() json.Token {
	if s.err != nil {
		return nil
	}
	t, err := s.Token()
	s.fail(err)
	return t
}

// skip consumes any value.
func (s *jsonStream) skip() {
	var ignored ignored
	open := s.token()
	if open != json.Delim('{') && open != json.Delim('[') {
		return
	}
	for s.err == nil && s.More() {
		if open == json.Delim('{') {
			s.token()
		}
		s.value(&ignored)
	}
	s.token()
}

// end fails if anything except white space follows.
func (s *jsonStream) end() {
	if s.err != nil {
		return
	}
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		s.fail(errors.New("text after the end of the value"))
	}
}

type ignored struct{}

// UnmarshalJSON accepts every value.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// real is a number, or NaN for a null, which is a missing value.
type real float64

// UnmarshalJSON implements json.Unmarshaler. What is too large is an infinity, which the analysis
// reports.
func (r *real) UnmarshalJSON(text []byte) error {
	v, err := math.NaN(), error(nil)
	if string(text) != "null" {
		v, err = strconv.ParseFloat(string(text), 64)
	}
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is not a number", text)
	}
	*r = real(v)
	return nil
}

// counts are the values of a core; nil for null or an array that contains null.
type counts []uint64

// UnmarshalJSON implements json.Unmarshaler.
func (c *counts) UnmarshalJSON(text []byte) error {
	var list []count
	if err := json.Unmarshal(text, &list); err != nil || list == nil {
		return err
	}
	values := make(counts, len(list))
	for i, v := range list {
		if v.missing {
			return nil
		}
		values[i] = v.value
	}
	*c = values
	return nil
}

type count struct {
	value   uint64
	missing bool
}

// UnmarshalJSON accepts an integer from 0 to 2^64-1, also as "5.0", and null.
func (c *count) UnmarshalJSON(text []byte) error {
	if c.missing = string(text) == "null"; c.missing {
		return nil
	}
	var err error
	if c.value, err = strconv.ParseUint(string(text), 10, 64); err == nil {
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v < 0 || v >= 1<<64 || v != math.Trunc(v) {
		return fmt.Errorf("%s is not a count from 0 to 2^64-1", text)
	}
	c.value = uint64(v)
	return nil
}
