package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Reader reads the stdout of one suite in chunks. It is an io.Writer that never fails: Result
// returns the error, and the rest of the output is skipped. It allocates only the lists of numbers,
// each at once in its full size.
type Reader struct {
	iterations int
	offset     int64 // bytes before the current one
	err        error
	state      state

	key  int             // index into keys
	seen [len(keys)]bool // keys seen so far
	list []uint64        // the counts of the current core
	n    int             // numbers in the current list, including excess ones

	walls  []int64
	counts [len(keys) - 1][][]uint64
	total  int // of the counts

	token   [maxToken]byte // a key, a number, or an excerpt for a message
	length  int
	explain func() error // returns the error once the token is complete
	line    bool         // the token ends at the end of the line
}

// NewReader returns a Reader for a suite that was asked for a number of iterations.
func NewReader(iterations int) *Reader { return &Reader{iterations: iterations} }

// state is what the next byte may be.
type state int

const (
	atStart      state = iota // white space before the object
	atFirstKey                // a key, or the end of an empty object
	atKey                     // a key
	inKey                     //
	atColon                   //
	atList                    // the list that is a key's value
	atFirstItem               // a number or a core's list, or the end of an empty list
	atItem                    // a number or a core's list
	inNumber                  // of wall times
	afterItem                 // comma or end of the list
	atFirstCount              // a number, or the end of a core's empty list
	atCount                   // a number
	inCount                   //
	afterCount                // comma or end of a core's list
	afterList                 // comma or end of the object
	atEnd                     // white space after the object
	inQuote                   // an excerpt for a message
)

// Write reads the next chunk. It does not keep it, and returns no error.
func (r *Reader) Write(p []byte) (int, error) {
	for i := 0; i < len(p) && r.err == nil; i++ {
		switch {
		case r.offset == MaxBytes:
			r.err = fmt.Errorf("more than %d MB on stdout; want one JSON object (print everything else to "+
				"stderr)",
				MaxBytes>>20)
		default:
			r.next(p[i])
		}
		r.offset++
	}
	return len(p), nil
}

// next processes one byte. A number ends at the first byte that is not part of it, which is
// processed again.
func (r *Reader) next(c byte) {
	switch r.state {
	case inKey:
		r.keyByte(c)
		return
	case inQuote:
		r.quoteByte(c)
		return
	case inNumber, inCount:
		if numeral(c) {
			r.numberByte(c)
			return
		}
		if r.err = r.number(); r.err != nil {
			return
		}
	}
	if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		r.structure(c)
	}
}

// structure processes a byte that is neither white space nor part of a token.
func (r *Reader) structure(c byte) {
	switch s := r.state; {
	case s == atStart && c == '{':
		r.state = atFirstKey
	case s == atStart:
		r.show(c, true, func() error {
			return fmt.Errorf("stdout begins with %s; want one JSON object and nothing before it "+
				"(print everything else to stderr)", quote(r.text()))
		})
	case (s == atFirstKey || s == atKey) && c == '"':
		r.state, r.length = inKey, 0
	case s == atColon && c == ':':
		r.state = atList
	case s == atList && c == '[':
		r.begin()
	case s == atList:
		r.show(c, false, func() error { return r.notList() })
	case (s == atFirstItem || s == atFirstCount || s == afterItem || s == afterCount) && c == ']':
		r.endList()
	case s == afterItem && c == ',':
		r.state = atItem
	case s == afterCount && c == ',':
		r.state = atCount
	case (s == atFirstItem || s == atItem) && r.key == 0:
		r.beginNumber(c, inNumber)
	case (s == atFirstItem || s == atItem) && c == '[':
		r.beginCore()
	case s == atFirstItem || s == atItem:
		r.show(c, false, func() error { return r.notList() })
	case s == atFirstCount || s == atCount:
		r.beginNumber(c, inCount)
	case s == afterList && c == ',':
		r.state = atKey
	case (s == afterList || s == atFirstKey) && c == '}':
		r.state = atEnd
	case s == atEnd:
		r.show(c, true, func() error {
			return fmt.Errorf("stdout continues with %s after the JSON object; want nothing there "+
				"(print everything else to stderr)", quote(r.text()))
		})
	default:
		r.err = r.at(fmt.Errorf("%q is not allowed here", c))
	}
}

// at adds the position to an error.
func (r *Reader) at(err error) error {
	return fmt.Errorf("the JSON object on stdout, at byte %d: %w", r.offset, err)
}

// keyByte processes a byte of a key.
func (r *Reader) keyByte(c byte) {
	switch {
	case c == '"':
		r.key = slices.Index(keys[:], string(r.text()))
		switch {
		case r.key < 0:
			r.err = r.at(r.unknownKey())
		case r.seen[r.key]:
			r.err = r.at(fmt.Errorf("key %s occurs twice", keys[r.key]))
		default:
			r.seen[r.key], r.state = true, atColon
		}
	case r.length == maxToken:
		r.err = r.at(r.unknownKey())
	default:
		r.add(c)
	}
}

func (r *Reader) unknownKey() error {
	return fmt.Errorf("unknown key %s; want exactly %s, %s, %s, %s",
		quote(r.text()), keyWall, keyCycles, keyAPERF, keyMPERF)
}

// begin starts the list of a key.
func (r *Reader) begin() {
	r.state, r.n = atFirstItem, 0
	if r.key == 0 {
		r.walls = make([]int64, 0, max(r.iterations, 0))
	}
}

// beginCore starts the list of a core.
func (r *Reader) beginCore() {
	lists := r.counts[r.key-1]
	switch {
	case len(lists) == maxCores:
		r.err = fmt.Errorf("%s has more than %d cores", keys[r.key], maxCores)
		return
	case r.total+r.iterations > MaxCounts:
		r.err = fmt.Errorf("more than %d counts in total; leave some of the lists empty, "+
			"or ask for fewer iterations", MaxCounts)
		return
	}
	r.total += max(r.iterations, 0)
	r.state, r.n = atFirstCount, 0
	r.list = make([]uint64, 0, max(r.iterations, 0))
}

// endList ends the current list, which must have one number per iteration.
func (r *Reader) endList() {
	core := r.state == atFirstCount || r.state == afterCount
	switch {
	case core && r.n != r.iterations:
		r.err = fmt.Errorf("%s[%d] has %d numbers for %d iterations",
			keys[r.key], len(r.counts[r.key-1]), r.n, r.iterations)
	case core:
		r.counts[r.key-1] = append(r.counts[r.key-1], r.list)
		r.list, r.state = nil, afterItem
	case r.key == 0 && r.n != r.iterations:
		r.err = fmt.Errorf("%s has %d numbers for %d iterations", keyWall, r.n, r.iterations)
	default:
		r.state = afterList
	}
}

// beginNumber processes the first byte of a number.
func (r *Reader) beginNumber(c byte, in state) {
	if c == '-' || c >= '0' && c <= '9' {
		r.state, r.length = in, 0
		r.add(c)
		return
	}
	r.show(c, false, func() error { return r.notNumber() })
}

// numeral reports whether c can be part of a number.
func numeral(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

func (r *Reader) numberByte(c byte) {
	if r.length == maxToken {
		r.err = r.at(fmt.Errorf("the number %s has more than %d characters", quote(r.text()), maxToken))
		return
	}
	r.add(c)
}

// number stores an integer in its list. Excess numbers are only counted.
func (r *Reader) number() error {
	number := r.text()
	if !json.Valid(number) {
		return r.notNumber()
	}
	i := r.n
	r.n++
	if r.state == inNumber {
		r.state = afterItem
		ns, err := wall(i, number)
		if i < r.iterations {
			r.walls = append(r.walls, ns)
		}
		return err
	}
	r.state = afterCount
	v, err := count(keys[r.key], len(r.counts[r.key-1]), i, number)
	if i < r.iterations {
		r.list = append(r.list, v)
	}
	return err
}

// show collects an excerpt for a message: up to the end of the line or of the word.
func (r *Reader) show(c byte, line bool, explain func() error) {
	r.state, r.length, r.line, r.explain = inQuote, 0, line, explain
	r.quoteByte(c)
}

func (r *Reader) quoteByte(c byte) {
	whole := c == '\n' || c == '\r' || r.length == maxToken
	switch {
	case r.line || r.length == 0:
	case r.token[0] == '[': // a list, up to its end
		whole = whole || r.token[r.length-1] == ']'
	default:
		whole = whole || c == ' ' || c == ',' || c == ']' || c == '}'
	}
	if whole {
		r.err = r.explain()
		return
	}
	r.add(c)
}

func (r *Reader) add(c byte) {
	r.token[r.length] = c
	r.length++
}

func (r *Reader) text() []byte { return r.token[:r.length] }

// notNumber returns the error for a token that is not a number.
func (r *Reader) notNumber() error {
	switch text := r.text(); {
	case string(text) == "null":
		return r.null()
	case slices.Contains([]string{"NaN", "Infinity", "-", "-Infinity"}, string(text)):
		return r.at(errors.New("NaN and Infinity are not JSON; an iteration without a time is an error"))
	default:
		return fmt.Errorf("%s must contain numbers: %s is not a number", keys[r.key], quote(text))
	}
}

// notList returns the error for a token that is not a list.
func (r *Reader) notList() error {
	if string(r.text()) == "null" {
		return r.null()
	}
	return fmt.Errorf("%s must contain a list: %s is not a list", keys[r.key], quote(r.text()))
}

func (r *Reader) null() error {
	return fmt.Errorf("%s contains null; want numbers, or [] when they were not measured", keys[r.key])
}
