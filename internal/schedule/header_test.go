package schedule

import (
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"

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
	text := must.Get(encodeHeader(h, c))(t)
	return text
}

func TestHeaderText(t *testing.T) {
	got := string(copyOf(t, someHeader(), copyB))
	lines := `krund-schedule=1
copy=B
generation=00000000000000000012
sectors=001
slots=0000000003
width=128
next=0000000001
reboots=0000000004
mails=0000000001
order=round-robin
seed=00000000000000000007
config=` + strings.Repeat("0af3", 16) + `
created=2026-11-21T09:00:00Z
boot=0b3f1a52-5f6e-4c3b-9f21-2d2f6f5f8a11
temperature=45000 coretemp/Package id 0
temperature=-5 nvme/Composite
`
	want := lines + strings.Repeat(" ", 512-14-len(lines)) + "\n"
	want += "crc=" + checksum(want) + "\n"
	must.Be(t, got == want && len(got) == 512, got, want)
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

func TestIsNewer(t *testing.T) {
	tests := map[string]bool{
		"krund-schedule=2\n": true, "krund-schedule=10\nx": true,
		"krund-schedule=1\n": false, "krund-schedule=2": false, "krund-schedule=x\n": false,
		"krund-schedule=-2\n": false, "schedule=2\n": false, "": false,
	}
	for text, want := range tests {
		must.Equal(t, isNewer([]byte(text)), want, "isNewer", text)
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
