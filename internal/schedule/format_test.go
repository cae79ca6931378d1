package schedule

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func checksum(text string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(text), castagnoli))
}

func someHeader() Header {
	return Header{
		Version: Version, Generation: 12, Sectors: 1, Slots: 3, Width: 128, Next: 1, Reboots: 4, Mails: 1,
		Order: RoundRobin, Seed: 7, ConfigHash: strings.Repeat("0af3", 16), Created: "2026-11-21T09:00:00Z",
		Boot: "0b3f1a52-5f6e-4c3b-9f21-2d2f6f5f8a11",
		BaseTemperatures: []results.Temperature{{Sensor: "coretemp/Package id 0", MilliC: 45000},
			{Sensor: "nvme/Composite", MilliC: -5}},
	}
}

func copyOf(t testing.TB, h Header, c copyID) []byte {
	t.Helper()
	return must.Get(encodeHeader(h, c))(t)
}

func TestHeaderLaws(t *testing.T) {
	extreme := someHeader()
	extreme.Generation, extreme.Seed = math.MaxUint64, math.MaxUint64
	extreme.Slots, extreme.Next, extreme.Reboots, extreme.Mails = MaxSlots, maxCount, maxCount, maxCount
	bare := someHeader()
	bare.BaseTemperatures, bare.Boot, bare.Order = nil, "", Interleaved
	many := someHeader()
	for i := range 100 {
		many.BaseTemperatures = append(many.BaseTemperatures,
			results.Temperature{Sensor: fmt.Sprintf("µ-sensor %d", i), MilliC: i})
	}
	for _, h := range []Header{someHeader(), extreme, bare, many} {
		h.Sectors = sectorsFor(h)
		for c := range copyID(copies) {
			text := copyOf(t, h, c)
			if sectorsOf(text[:sectorBytes]) != h.Sectors || len(text) != h.Sectors*sectorBytes {
				t.Errorf("%d bytes, sectors %d, want %d", len(text), sectorsOf(text[:sectorBytes]), h.Sectors)
			}
			got, err := decodeHeader(text, c)
			must.Be(t, err == nil && reflect.DeepEqual(got, h), got, err, h)
			must.Refused(decodeHeader(text, c.other()))(t, "", "one copy passes for the other")
		}
	}
}

// TestRoomForTemperatures: the requested number of temperatures fits later, with sensor names of
// ordinary length. What does not fit is an error.
func TestRoomForTemperatures(t *testing.T) {
	for _, sensors := range []int{0, 1, 2, 10, 200} {
		h := someHeader()
		h.BaseTemperatures, h.Sensors = nil, sensors
		h.Sectors = sectorsFor(h)
		must.Be(t, sensors != 0 || h.Sectors == 1, "no sensors need", h.Sectors, "sectors")
		for i := range sensors {
			name := fmt.Sprintf("%03d", i) + strings.Repeat("x", sensorRoom-len("temperature=-273150 \n")-3)
			h.BaseTemperatures = append(h.BaseTemperatures, results.Temperature{Sensor: name,
				MilliC: -273150})
		}
		must.Get(encodeHeader(h, copyA))(t, sensors, "sensors")
		for range 8 {
			h.BaseTemperatures = append(h.BaseTemperatures,
				results.Temperature{Sensor: strings.Repeat("y", 100)})
		}
		_, err := encodeHeader(h, copyA)
		must.Fail(t, err, ErrRoom, "8 more than", sensors, "sensors")
	}
}

func TestHeaderRefused(t *testing.T) {
	tests := map[string]func(*Header){
		"width 100 is not":          func(h *Header) { h.Width = 100 },
		"width 1024 is not":         func(h *Header) { h.Width = 1024 },
		"0 slots":                   func(h *Header) { h.Slots = 0 },
		"1000000000 slots":          func(h *Header) { h.Slots = 1_000_000_000 },
		"0 header sectors":          func(h *Header) { h.Sectors = 0 },
		"257 header sectors":        func(h *Header) { h.Sectors = 257 },
		`unknown order "random"`:    func(h *Header) { h.Order = "random" },
		"next -1":                   func(h *Header) { h.Next = -1 },
		"reboots 2147483648":        func(h *Header) { h.Reboots = maxCount + 1 },
		`config hash "a b" is not`:  func(h *Header) { h.ConfigHash = "a b" },
		`boot "a b" is not`:         func(h *Header) { h.Boot = "a b" },
		`creation "\n" is not`:      func(h *Header) { h.Created = "\n" },
		`name "" is not text on`:    func(h *Header) { h.BaseTemperatures[0].Sensor = "" },
		`name " x" is not text on`:  func(h *Header) { h.BaseTemperatures[0].Sensor = " x" },
		`name "x\n" is not text on`: func(h *Header) { h.BaseTemperatures[0].Sensor = "x\n" },
	}
	for want, change := range tests {
		h := someHeader()
		change(&h)
		must.Refused(encodeHeader(h, copyA))(t, want)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(copyOf(f, someHeader(), copyA))
	f.Add([]byte(""))
	f.Add([]byte("krund-schedule=2\ncopy=A\nsectors=009\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n := sectorsOf(text)
		must.Be(t, n >= 0 && n <= maxSectors, n, "sectors")
		isNewer(text)
		// Filled up and with a correct checksum, so that the checks after it are reached.
		sealed := text
		if n := len(text) % sectorBytes; n != 0 || len(text) == 0 {
			sealed = append(text[:len(text):len(text)], strings.Repeat(" ", sectorBytes-n)...)
		}
		at := len(sealed) - headerTail
		sealed = append(sealed[:at:at], '\n')
		sealed = append(sealed, "crc="+checksum(string(sealed))+"\n"...)
		for _, text := range [][]byte{text, sealed} {
			h, err := decodeHeader(text, copyA)
			if err != nil {
				continue
			}
			again, err := encodeHeader(h, copyA)
			must.Be(t, err == nil && string(again) == string(text), text, "is read as", h, "and written as",
				again, err)
		}
	})
}

var nbody = key.Key{Benchmark: "nbody", VM: "C", Variant: "default-c"}

// longest is the longest possible key.
var longest = key.Key{
	Benchmark: strings.Repeat("b", key.MaxName), VM: strings.Repeat("v", key.MaxName),
	Variant: strings.Repeat("w", key.MaxName), Arm: strings.Repeat("a", key.MaxName),
}

func lineOf(t testing.TB, s Slot, width int) []byte {
	t.Helper()
	line := make([]byte, width)
	must.Do(t, encodeSlot(line, s))
	return line
}

func TestSlotLaws(t *testing.T) {
	slots := []Slot{
		{Flag: Outstanding, Pexec: 1, Key: nbody},
		{Flag: Running, Attempts: 1, Pexec: 1, Key: nbody},
		{Flag: Completed, Attempts: MaxAttempts, Pexec: MaxPexec, Key: nbody},
		{Flag: Error, Attempts: 3, Pexec: 30, Key: key.Key{Benchmark: "+", VM: "-", Variant: "_"}},
		{Flag: Timeout, Pexec: 1, Key: key.Key{Benchmark: strings.Repeat("x", 64), VM: "C++",
			Variant: "a.b"}},
		{Flag: Skipped, Pexec: 1, Key: longest},
		{Flag: Outstanding, Pexec: 1, Key: key.Key{Benchmark: "a", VM: "b", Variant: "c", Arm: "d"}},
	}
	for _, want := range slots {
		width := widthFor(len(want.Key.String()))
		must.Be(t, width&(width-1) == 0 && sectorBytes%width == 0 && width >= 128, want.Key, "width", width)
		for ; width <= maxWidth; width *= 2 {
			line := lineOf(t, want, width)
			var d slotDecoder
			got, err := d.decode(line, 0)
			must.Be(t, err == nil && got == want, "width", width, got, err, want)
			f, reason := peekSlot(line)
			must.Be(t, f == want.Flag && reason == "", "peek", f, reason)
		}
	}
}

// TestWidthFits: a key that is one byte too long for a width gets the next width.
func TestWidthFits(t *testing.T) {
	const room = 128 - keyAt - slotTail
	for n, want := range map[int]int{1: 128, room: 128, room + 1: 256, 194: 256, 259: 512} {
		must.Equal(t, widthFor(n), want, "key of", "bytes: width")
	}
}

// TestSlotEveryBit flips each bit of a line: each flip is detected.
func TestSlotEveryBit(t *testing.T) {
	line := lineOf(t, Slot{Flag: Completed, Attempts: 1, Pexec: 3, Key: nbody}, 128)
	for i := range len(line) * 8 {
		line[i/8] ^= 1 << (i % 8)
		var d slotDecoder
		var damaged *DamagedSlot
		_, err := d.decode(line, 9)
		must.Be(t, errors.As(err, &damaged) && damaged.Index == 9, "bit", i%8, "of byte", i/8, err)
		line[i/8] ^= 1 << (i % 8)
	}
}

// resealed returns an invalid line with a correct checksum.
func resealed(t *testing.T, from, to string) []byte {
	t.Helper()
	line := lineOf(t, Slot{Flag: Completed, Attempts: 1, Pexec: 3, Key: nbody}, 128)
	text := strings.Replace(string(line[:128-9]), from, to, 1)
	must.Need(t, len(text) == 128-9, "the replacement has another length")
	return []byte(text + checksum(text) + "\n")
}

func TestSlotDamage(t *testing.T) {
	good := string(resealed(t, "", ""))
	tests := []struct{ name, line, reason string }{
		{"zeros", strings.Repeat("\x00", 128), "filled with zeros"},
		{"spaces", strings.Repeat(" ", 128), "wrong checksum"},
		{"no newline", good[:127] + " ", "wrong checksum"},
		{"checksum of another", good[:119] + "00000000\n", "wrong checksum"},
		{"flag", string(resealed(t, "C", "c")), "unknown flag"},
		{"attempts", string(resealed(t, "001", "-01")), "the attempts are not a number"},
		{"pexec", string(resealed(t, "0000003", "000000x")), "the process execution is not a number from 1"},
		{"pexec 0", string(resealed(t, "0000003", "0000000")), "the process execution is not a number from " +
			"1"},
		{"key", string(resealed(t, "nbody:", "nbody;")), "the key is not benchmark:vm:variant"},
		{"comma", string(resealed(t, "C 001", "C,001")), "the fields are not where they belong"},
		{"comma after attempts", string(resealed(t, "001 ", "001,")), "the fields are not where they belong"},
		{"comma after pexec", string(resealed(t, "0003 ", "0003,")), "the fields are not where they belong"},
		{"rubbish at the end", good[:118] + "x" + checksum(good[:118]+"x") + "\n",
			"the fields are not where they belong"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d slotDecoder
			_, err := d.decode([]byte(test.line), 4)
			want := DamagedSlot{Index: 4, Reason: test.reason}
			var got *DamagedSlot
			must.Be(t, errors.As(err, &got) && *got == want, err, &want)
		})
	}
}

func TestSlotRefused(t *testing.T) {
	good := Slot{Flag: Outstanding, Pexec: 1, Key: nbody}
	tests := map[string]func(*Slot){
		`unknown flag '?'`:             func(s *Slot) { s.Flag = '?' },
		"1000 attempts":                func(s *Slot) { s.Attempts = 1000 },
		"-1 attempts":                  func(s *Slot) { s.Attempts = -1 },
		"process execution 0":          func(s *Slot) { s.Pexec = 0 },
		"process execution 10000000":   func(s *Slot) { s.Pexec = 10_000_000 },
		"benchmark: the name is empty": func(s *Slot) { s.Key.Benchmark = "" },
		"there is room for 104":        func(s *Slot) { s.Key = longest },
	}
	for want, change := range tests {
		s := good
		change(&s)
		must.Refuse(t, encodeSlot(make([]byte, 128), s), want)
	}
}

// TestPeekDoesNotAllocate, because it is called for a million slots.
func TestPeekDoesNotAllocate(t *testing.T) {
	line := lineOf(t, Slot{Flag: Completed, Pexec: 1, Key: nbody}, 128)
	must.Equal(t, testing.AllocsPerRun(100, func() { peekSlot(line) }), 0, "allocations")
	var d slotDecoder
	must.Equal(t, testing.AllocsPerRun(100, func() { _, _ = d.decode(line, 0) }), 0, "decoding a known key",
		"allocations")
}

func FuzzSlot(f *testing.F) {
	f.Add(lineOf(f, Slot{Flag: Outstanding, Pexec: 1, Key: nbody}, 128))
	f.Add(lineOf(f, Slot{Flag: Skipped, Attempts: 3, Pexec: 12, Key: longest}, 512))
	f.Add(lineOf(f, Slot{Flag: Outstanding, Pexec: 1,
		Key: key.Key{Benchmark: "a", VM: "b", Variant: "c", Arm: "d"}}, 128))
	f.Add(make([]byte, 128))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !validWidth(len(text)) {
			return
		}
		// With a correct checksum, so that the checks after it are reached.
		sealed := append(text[:len(text)-9:len(text)-9], checksum(string(text[:len(text)-9]))+"\n"...)
		for _, line := range [][]byte{text, sealed} {
			var d slotDecoder
			s, err := d.decode(line, 5)
			if err != nil {
				continue
			}
			again := make([]byte, len(line))
			if err := encodeSlot(again, s); err != nil || string(again) != string(line) {
				t.Errorf("%q is read as %+v and written as %q, %v", line, s, again, err)
			}
		}
	})
}

// SlotOffset returns the offset of a slot in the file.
func (h Header) SlotOffset(index int) int64 { return h.slotAt(index) }

// Each is the executions of a Plan with the same number for all keys.
func Each(executions int) func(key.Key) int { return func(key.Key) int { return executions } }
