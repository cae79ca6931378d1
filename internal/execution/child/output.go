package child

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"krund/internal/experiment/results"
)

// headTailBuffer keeps the first and the last bytes of a stream of any length in bounded memory.
type headTailBuffer struct {
	limit int64
	total int64
	head  []byte // at most limit/2 bytes
	tail  []byte // at most the rest; a ring once it is full
	next  int    // where the ring continues, and so where its oldest byte is
}

func newHeadTailBuffer(limit int64) *headTailBuffer { return &headTailBuffer{limit: limit} }

// write adds p to the stream and does not retain it.
func (b *headTailBuffer) write(p []byte) {
	b.total += int64(len(p))
	if room := int(b.limit/2) - len(b.head); room > 0 {
		n := min(room, len(p))
		b.head = append(b.head, p[:n]...)
		p = p[n:]
	}
	size := int(b.limit - b.limit/2)
	if len(p) > size {
		p = p[len(p)-size:]
	}
	if room := size - len(b.tail); room > 0 {
		n := min(room, len(p))
		b.tail = append(b.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(b.tail[b.next:], p)
		b.next = (b.next + n) % size
		p = p[n:]
	}
}

// output returns what was kept: valid UTF-8, with U+FFFD for other bytes. When truncated, it is the
// first and the last half of the limit, with a line between them that says how much is left out.
func (b *headTailBuffer) output() results.Output {
	out := results.Output{Bytes: b.total, Truncated: b.total > b.limit}
	last := append(append([]byte(nil), b.tail[b.next:]...), b.tail[:b.next]...)
	if !out.Truncated {
		out.Text = strings.ToValidUTF8(string(b.head)+string(last), "\uFFFD")
		return out
	}
	first := trimEnd(b.head)
	last = trimStart(last)
	missing := b.total - int64(len(first)) - int64(len(last))
	text := fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", first, missing, last)
	out.Text = strings.ToValidUTF8(text, "\uFFFD")
	return out
}

// trimEnd drops an incomplete character at the end of b.
func trimEnd(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// trimStart drops the rest of an incomplete character at the start of b.
func trimStart(b []byte) []byte {
	for i := range utf8.UTFMax { // at most three bytes continue a character
		if i == len(b) || utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
