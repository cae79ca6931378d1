package schedule

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/bits"

	"krund/internal/experiment/key"
)

// The layout of a slot's line; see the package documentation. The checksum and the newline are at
// the end.
const (
	attemptsAt = 2  // 3 digits
	pexecAt    = 6  // 7 digits
	keyAt      = 14 // padded with spaces
	crcDigits  = 8
	slotTail   = 1 + crcDigits + 1 // space, checksum, newline
)

// The width of a slot is a power of two, so that no line spans two sectors.
const (
	minWidth = 128
	maxWidth = sectorBytes
)

// castagnoli is the polynomial of CRC-32C, for which processors have instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// widthFor returns the width of lines for keys of n bytes.
func widthFor(n int) int {
	need := keyAt + n + slotTail
	return max(minWidth, 1<<bits.Len(uint(need-1)))
}

// validWidth reports whether w is a valid line width.
func validWidth(w int) bool {
	return w >= minWidth && w <= maxWidth && w&(w-1) == 0
}

// encodeSlot writes s into line, whose length is the width.
func encodeSlot(line []byte, s Slot) error {
	if err := s.check(); err != nil {
		return err
	}
	name := s.Key.String()
	if room := len(line) - keyAt - slotTail; len(name) > room {
		return fmt.Errorf("slot %d: key %s is %d bytes long, but there is room for %d", s.Index, name,
			len(name), room)
	}
	head := fmt.Appendf(line[:0], "%c %03d %07d %s", s.Flag, s.Attempts, s.Pexec, name)
	tail := line[len(head):]
	for i := range tail {
		tail[i] = ' '
	}
	sum := line[:len(line)-crcDigits-1]
	copy(line[len(sum):], fmt.Sprintf("%08x\n", crc32.Checksum(sum, castagnoli)))
	return nil
}

func (s Slot) check() error {
	switch {
	case !s.Flag.Known():
		return fmt.Errorf("slot %d: unknown %s", s.Index, s.Flag)
	case s.Attempts < 0 || s.Attempts > MaxAttempts:
		return fmt.Errorf("slot %d: %d attempts; the schedule holds 0 to %d", s.Index,
			s.Attempts, MaxAttempts)
	case s.Pexec < 1 || s.Pexec > MaxPexec:
		return fmt.Errorf("slot %d: process execution %d; the schedule holds 1 to %d", s.Index,
			s.Pexec, MaxPexec)
	}
	if _, err := key.Parse(s.Key.String()); err != nil {
		return fmt.Errorf("slot %d: %w", s.Index, err)
	}
	return nil
}

// peekSlot returns the flag of a line and checks its checksum and where its fields are. reason says
// what is wrong if the line is damaged. It does not allocate.
func peekSlot(line []byte) (f Flag, reason string) {
	at := len(line) - crcDigits - 1
	var sum [crcDigits / 2]byte
	var end [crcDigits + 1]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(line[:at], castagnoli))
	hex.Encode(end[:], sum[:])
	end[crcDigits] = '\n'
	switch {
	case allZero(line):
		return 0, "filled with zeros"
	case !bytes.Equal(line[at:], end[:]):
		return 0, "wrong checksum"
	}
	for _, separator := range []int{attemptsAt - 1, pexecAt - 1, keyAt - 1, len(line) - slotTail} {
		if line[separator] != ' ' {
			return 0, "the fields are not where they belong"
		}
	}
	if f = Flag(line[0]); !f.Known() {
		return 0, "unknown flag"
	}
	return f, ""
}

func allZero(text []byte) bool {
	return len(text) > 0 && text[0] == 0 && len(bytes.TrimLeft(text, "\x00")) == 0
}

// slotDecoder decodes lines and caches the keys, because an experiment has many slots and few keys.
// The zero value is ready to use.
type slotDecoder struct {
	keys map[string]key.Key
}

// decode decodes a line. It accepts only what encodeSlot writes.
func (d *slotDecoder) decode(line []byte, index int) (Slot, error) {
	damaged := func(reason string) (Slot, error) {
		return Slot{Index: index}, &DamagedSlot{Index: index, Reason: reason}
	}
	f, reason := peekSlot(line)
	if reason != "" {
		return damaged(reason)
	}
	s := Slot{Index: index, Flag: f}
	var ok bool
	if s.Attempts, ok = digits(line[attemptsAt : pexecAt-1]); !ok {
		return damaged("the attempts are not a number")
	}
	if s.Pexec, ok = digits(line[pexecAt : keyAt-1]); !ok || s.Pexec < 1 {
		return damaged("the process execution is not a number from 1")
	}
	if s.Key, ok = d.key(bytes.TrimRight(line[keyAt:len(line)-slotTail], " ")); !ok {
		return damaged("the key is not benchmark:vm:variant")
	}
	return s, nil
}

func (d *slotDecoder) key(text []byte) (key.Key, bool) {
	if k, ok := d.keys[string(text)]; ok { // does not allocate
		return k, true
	}
	k, err := key.Parse(string(text))
	if err != nil {
		return key.Key{}, false
	}
	if d.keys == nil {
		d.keys = make(map[string]key.Key)
	}
	d.keys[string(text)] = k
	return k, true
}

// digits parses a number that consists of digits only.
func digits(text []byte) (int, bool) {
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = 10*n + int(b-'0')
	}
	return n, true
}
