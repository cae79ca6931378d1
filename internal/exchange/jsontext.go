package exchange

import (
	"strconv"
	"unicode/utf8"
)

// maxString limits the length of a string: Krun's files hold configurations and kernel logs.
const maxString = 64 << 20

// text consumes a string.
func (s *jsonStream) text() string {
	if !s.expect('"') {
		return ""
	}
	var out []byte
	for s.err == nil {
		c := s.peek()
		if c < ' ' {
			s.fail("unterminated string: %s in it", describeByte(c))
			break
		}
		s.at++
		switch c {
		case '"':
			return string(out)
		case '\\':
			out = s.escape(out)
		default:
			out = append(out, c)
		}
		if len(out) > maxString {
			s.fail("a string has more than %d bytes", maxString)
		}
	}
	return ""
}

// escape consumes the rest of an escape sequence. Surrogates become U+FFFD unless they form a pair.
func (s *jsonStream) escape(out []byte) []byte {
	c := s.peek()
	s.at++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		return s.unicode(out)
	}
	s.at--
	s.fail("%s after a backslash", describeByte(c))
	return out
}

func (s *jsonStream) unicode(out []byte) []byte {
	r := s.hex4()
	for r >= 0xd800 && r < 0xdc00 && s.peek() == '\\' {
		s.at++
		if s.peek() != 'u' {
			return s.escape(utf8.AppendRune(out, utf8.RuneError))
		}
		s.at++
		low := s.hex4()
		if low >= 0xdc00 && low < 0xe000 {
			return utf8.AppendRune(out, (r-0xd800)<<10|(low-0xdc00)+0x10000)
		}
		out = utf8.AppendRune(out, utf8.RuneError)
		r = low
	}
	return utf8.AppendRune(out, r)
}

func (s *jsonStream) hex4() rune {
	var r rune
	for range 4 {
		c := s.peek()
		v, err := strconv.ParseUint(string(rune(c)), 16, 8)
		if err != nil {
			s.fail("%s in \\u", describeByte(c))
			return utf8.RuneError
		}
		s.at++
		r = r<<4 | rune(v)
	}
	return r
}
