package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"krund/internal/experiment/results"
)

// The file layout; see the package documentation.
const (
	sectorBytes = 512
	sensorRoom  = 128 // bytes reserved per base temperature
	bootRoom    = 40  // bytes reserved for the name of a boot; Linux has UUIDs of 36
	maxSectors  = 256 // per header copy: 128 KiB, room for 1,000 sensors
	headerTail  = len("\ncrc=00000000\n")
	magic       = "krund-schedule="
)

// copyID identifies one of the two copies of the header.
type copyID int

const (
	copyA  copyID = 0
	copyB  copyID = 1
	copies        = 2
)

func (c copyID) String() string { return "AB"[c : c+1] }

func (c copyID) other() copyID { return 1 - c }

// first returns the offset of the copy's first sector, rest that of its other sectors.
func (c copyID) first() int64 { return int64(c) * sectorBytes }

func (c copyID) rest(sectors int) int64 {
	return (copies + int64(c)*int64(sectors-1)) * sectorBytes
}

// slotsAt returns the offset of slot 0.
func (h Header) slotsAt() int64 { return copies * int64(h.Sectors) * sectorBytes }

// slotAt returns the offset of a slot.
func (h Header) slotAt(index int) int64 { return h.slotsAt() + int64(index)*int64(h.Width) }

// fileBytes returns the size of the file.
func (h Header) fileBytes() int64 { return h.slotAt(h.Slots) }

// check returns an error if h cannot be written.
func (h Header) check() error {
	switch {
	case !validWidth(h.Width):
		return fmt.Errorf("width %d is not 128, 256 or 512", h.Width)
	case h.Slots < 1 || h.Slots > MaxSlots:
		return fmt.Errorf("%d slots; a schedule has 1 to %d", h.Slots, MaxSlots)
	case h.Sectors < 1 || h.Sectors > maxSectors:
		return fmt.Errorf("%d header sectors; a schedule has 1 to %d", h.Sectors, maxSectors)
	case !KnownOrder(h.Order):
		return fmt.Errorf("unknown order %q", h.Order)
	case h.Next < 0 || h.Reboots < 0 || h.Mails < 0 || max(h.Next, h.Reboots, h.Mails) > maxCount:
		return fmt.Errorf("next %d, reboots %d, mails %d: counts have 1 to 10 digits", h.Next,
			h.Reboots, h.Mails)
	}
	for _, w := range [][2]string{{"config hash", h.ConfigHash}, {"time of creation", h.Created},
		{"name of the boot", h.Boot}} {
		if !isWord(w[1]) {
			return fmt.Errorf("the %s %q is not one word", w[0], w[1])
		}
	}
	for _, t := range h.BaseTemperatures {
		if !isLine(t.Sensor) {
			return fmt.Errorf("the sensor's name %q is not text on one line", t.Sensor)
		}
	}
	return nil
}

// maxCount is the largest ten-digit number that fits an int on every platform.
const maxCount = 1<<31 - 1

// isWord reports whether s is printable ASCII without spaces. s may be empty.
func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// isLine reports whether s is UTF-8 without control characters and without spaces at either end.
func isLine(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

// text returns the header's lines. Numbers have fixed widths, so that updates never change the
// length of a line.
func (h Header) text(c copyID) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", magic, Version)
	fmt.Fprintf(&b, "copy=%s\n", c)
	fmt.Fprintf(&b, "generation=%020d\n", h.Generation)
	fmt.Fprintf(&b, "sectors=%03d\n", h.Sectors)
	fmt.Fprintf(&b, "slots=%010d\n", h.Slots)
	fmt.Fprintf(&b, "width=%03d\n", h.Width)
	fmt.Fprintf(&b, "next=%010d\n", h.Next)
	fmt.Fprintf(&b, "reboots=%010d\n", h.Reboots)
	fmt.Fprintf(&b, "mails=%010d\n", h.Mails)
	fmt.Fprintf(&b, "order=%s\n", h.Order)
	fmt.Fprintf(&b, "seed=%020d\n", h.Seed)
	fmt.Fprintf(&b, "config=%s\n", h.ConfigHash)
	fmt.Fprintf(&b, "created=%s\n", h.Created)
	if h.Boot != "" {
		fmt.Fprintf(&b, "boot=%s\n", h.Boot)
	}
	for _, t := range h.BaseTemperatures {
		fmt.Fprintf(&b, "temperature=%d %s\n", t.MilliC, t.Sensor)
	}
	return b.Bytes()
}

// sectorsFor returns the number of sectors of a copy of h, including the room that h requests for
// base temperatures.
func sectorsFor(h Header) int {
	h.Boot = strings.Repeat("-", bootRoom)
	bare := h
	bare.BaseTemperatures = nil
	need := max(len(h.text(copyA)), len(bare.text(copyA))+h.Sensors*sensorRoom)
	return (need + headerTail + sectorBytes - 1) / sectorBytes
}

// encodeHeader returns the bytes of one copy, h.Sectors sectors.
func encodeHeader(h Header, c copyID) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("schedule header: %w", err)
	}
	text := h.text(c)
	size := h.Sectors * sectorBytes
	if len(text)+headerTail > size {
		return nil, fmt.Errorf("%w: %d base temperatures need %d bytes, but there are only %d; the "+
			"schedule was created for fewer sensors",
			ErrRoom, len(h.BaseTemperatures), len(text)+headerTail, size)
	}
	for len(text) < size-headerTail {
		text = append(text, padding(len(text)))
	}
	text = append(text, '\n')
	return fmt.Appendf(text, "crc=%08x\n", crc32.Checksum(text, castagnoli)), nil
}

// padding returns the padding byte at an offset of the copy: a newline at the end of each sector,
// so that what follows the first sector in the file starts on a new line.
func padding(at int) byte {
	if at%sectorBytes == sectorBytes-1 {
		return '\n'
	}
	return ' '
}

// sectorsOf parses the number of sectors from a copy's first sector. It returns 0 if there is none.
// The number is trustworthy only if the checksum is correct.
func sectorsOf(first []byte) int {
	const name = "\nsectors="
	_, after, ok := bytes.Cut(first, []byte(name))
	if !ok || len(after) < 3 {
		return 0
	}
	n, ok := digits(after[:3])
	if !ok || n > maxSectors {
		return 0
	}
	return n
}

// isNewer reports whether a copy's first sector has a later version. Nothing else can be known
// about such a copy, not even its checksum algorithm.
func isNewer(first []byte) bool {
	rest, ok := bytes.CutPrefix(first, []byte(magic))
	line, _, found := bytes.Cut(rest, []byte("\n"))
	if !ok || !found {
		return false
	}
	n, err := strconv.ParseUint(string(line), 10, 31)
	return err == nil && n > Version
}

// decodeHeader decodes the bytes of one copy. It accepts only what encodeHeader writes.
func decodeHeader(text []byte, c copyID) (Header, error) {
	if len(text) == 0 || len(text)%sectorBytes != 0 {
		return Header{}, errors.New("not whole sectors")
	}
	body, crc := text[:len(text)-headerTail+1], text[len(text)-headerTail+1:]
	if string(crc) != fmt.Sprintf("crc=%08x\n", crc32.Checksum(body, castagnoli)) {
		return Header{}, errors.New("wrong checksum")
	}
	h, err := parseHeader(string(body))
	if err != nil {
		return Header{}, err
	}
	again, err := encodeHeader(h, c)
	if err != nil {
		return Header{}, err
	}
	if !bytes.Equal(again, text) {
		return Header{}, errors.New("not in the form that krund writes")
	}
	return h, nil
}

// parseHeader parses the lines; decodeHeader checks their order and form.
func parseHeader(body string) (Header, error) {
	h := Header{Version: Version}
	numbers := map[string]*int{
		"sectors": &h.Sectors, "slots": &h.Slots, "width": &h.Width,
		"next": &h.Next, "reboots": &h.Reboots, "mails": &h.Mails,
	}
	words := map[string]*string{"order": &h.Order, "config": &h.ConfigHash, "created": &h.Created,
		"boot": &h.Boot}
	for line := range strings.Lines(body) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		var err error
		switch {
		case numbers[name] != nil:
			*numbers[name], err = strconv.Atoi(value)
		case words[name] != nil:
			*words[name] = value
		case name == "generation":
			h.Generation, err = strconv.ParseUint(value, 10, 64)
		case name == "seed":
			h.Seed, err = strconv.ParseUint(value, 10, 64)
		case name == "temperature":
			var t results.Temperature
			t, err = parseTemperature(value)
			h.BaseTemperatures = append(h.BaseTemperatures, t)
		}
		if err != nil {
			return Header{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return h, nil
}

func parseTemperature(value string) (results.Temperature, error) {
	number, sensor, _ := strings.Cut(value, " ")
	milli, err := strconv.Atoi(number)
	return results.Temperature{Sensor: sensor, MilliC: milli}, err
}
