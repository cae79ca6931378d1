package child

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
)

// killTime bounds the killing. Only processes that the kernel itself holds (state D: a dead disk, a
// dead network file system) outlast it.
const killTime = 10 * time.Second

const (
	// pipeBytes is the size that the output pipes get if possible: a benchmark that writes less
	// never waits for the daemon. It is the largest that Linux grants to an ordinary user by
	// default (fs.pipe-max-size).
	pipeBytes = 1 << 20
	// minHold is how long the daemon does not look at the pipes after it found little in them. The
	// time doubles up to maxHold while that continues, so a benchmark that prints a line per
	// iteration wakes the daemon once a second and not once per line. (If it then writes more than
	// a pipe holds, it waits that long.)
	minHold = 100 * time.Millisecond
	maxHold = time.Second
	// little is how much may be in the pipe for the daemon to hold off.
	little = pipeBytes / 16
	// readBytes are read at once, and at most roundBytes from one stream before the others are
	// read.
	readBytes  = 64 << 10
	roundBytes = 16 * readBytes
)

// endReason is why the wait ended.
type endReason int

const (
	ended    endReason = iota // the process ended by itself
	timedOut                  // the time limit passed
	canceled                  // the context was canceled
)

// stream is the reading end of one output pipe.
type stream struct {
	fd    int  // -1 after end of file
	large bool // the pipe is large enough not to be read for a while
	keep  *headTailBuffer
	tee   io.Writer // Command.Stdout or nil
}

// watch is everything that wait polls.
type watch struct {
	end      int // readable once the process has ended
	cancel   int // readable once the context is canceled
	streams  []*stream
	deadline int64 // by now(); 0 means none
	buf      []byte
}

// wait sleeps in poll(2) until the process ends, the deadline passes or the context is canceled,
// and reads output meanwhile.
func (w *watch) wait() (endReason, error) {
	fds := make([]unix.PollFd, 2+len(w.streams))
	hold, rest := int64(0), minHold // when the pipes are polled again, and the next interval
	for {
		t := now()
		fds[0] = unix.PollFd{Fd: int32(w.end), Events: unix.POLLIN}
		fds[1] = unix.PollFd{Fd: int32(w.cancel), Events: unix.POLLIN}
		for i, s := range w.streams {
			fds[2+i] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
			if t < hold && s.large {
				fds[2+i].Fd = -1
			}
		}
		wake := w.deadline
		if t < hold && (wake == 0 || hold < wake) {
			wake = hold
		}
		_, err := unix.Poll(fds, pollTimeout(t, wake))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return ended, fmt.Errorf("wait for the benchmark: poll: %w", err)
		case fds[0].Revents != 0:
			return ended, nil
		case fds[1].Revents != 0:
			return canceled, nil
		case w.deadline != 0 && now() >= w.deadline:
			return timedOut, nil
		}
		n := 0
		for i, s := range w.streams {
			if fds[2+i].Revents != 0 {
				n = max(n, s.take(w.buf))
			}
		}
		switch {
		case n > little:
			rest = minHold
		case n > 0:
			hold = now() + int64(rest)
			rest = min(2*rest, maxHold)
		}
	}
}

// pollTimeout returns the milliseconds from t until wake, rounded up, or -1 for ever when wake is
// 0.
func pollTimeout(t, wake int64) int {
	if wake == 0 {
		return -1
	}
	ms := (wake - t + int64(time.Millisecond) - 1) / int64(time.Millisecond)
	return int(min(max(ms, 0), math.MaxInt32))
}

// take reads what is in the pipe now, at most roundBytes, and returns how much it read.
func (s *stream) take(buf []byte) int {
	total := 0
	for s.fd >= 0 && total < roundBytes {
		n, err := unix.Read(s.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return total
		case err != nil || n <= 0: // end of file: the benchmark closed it, or is gone
			s.close()
		default:
			s.keep.write(buf[:n])
			if s.tee != nil {
				_, _ = s.tee.Write(buf[:n]) // never fails: Command.Stdout
			}
			total += n
		}
	}
	return total
}

// drain reads what is left after the end. It does not wait for other processes that hold the pipe
// open.
func (s *stream) drain(buf []byte) {
	// More than the pipe can hold means that another process is still writing.
	for total := 0; total < 4*pipeBytes; {
		n := s.take(buf)
		if n == 0 {
			return
		}
		total += n
	}
}

func (s *stream) close() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd) // read-only: nothing can be lost
		s.fd = -1
	}
}

// readable waits until fd can be read, at most until limit, and reports whether it can.
func readable(fd int, limit int64) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, pollTimeout(now(), limit))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}

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
