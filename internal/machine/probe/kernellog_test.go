package probe

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"krund/rig/must"
)

// lockedClock is a fakeClock that is safe for concurrent use.
type lockedClock struct {
	mu    sync.Mutex
	clock fakeClock
}

func (c *lockedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.Now()
}

func (c *lockedClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.Sleep(ctx, d)
}

func TestParseKmsg(t *testing.T) {
	tests := []struct {
		record string
		want   KernelLine
		bad    bool
	}{
		{"6,339,5140900,-;NET: Registered protocol family 10\n", KernelLine{339, 0, 6, 5140900,
			"NET: Registered protocol family 10"}, false},
		{"30,340,5690716,-;udevd[80]: starting version 181\n", KernelLine{340, 3, 6, 5690716,
			"udevd[80]: starting version 181"}, false},
		{"12,1,5,-,caller=T1;text; with a semicolon\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n",
			KernelLine{1, 1, 4, 5, "text; with a semicolon"}, false},
		{"4,2,6,c;tab\\x09 and bad \\xzz\n", KernelLine{2, 0, 4, 6, "tab\t and bad \\xzz"}, false},
		{"4,3,6,c;a\\x0a\\x1b[2J\\xc2\\x9b[1]: segfault",
			KernelLine{3, 0, 4, 6, `a\x0a\x1b[2J\xc2\x9b[1]: segfault`}, false},
		{"4,3,6,c;\\xe2\\x80\\xae: segfault", KernelLine{3, 0, 4, 6, `\xe2\x80\xae: segfault`}, false},
		{"4,3,6,c;caf\\xc3\\xa9: segfault", KernelLine{3, 0, 4, 6, "café: segfault"}, false},
		{"4,18446744073709551615,6,-;x", KernelLine{1<<64 - 1, 0, 4, 6, "x"}, false},
		{"", KernelLine{}, true},
		{"4,1;x", KernelLine{}, true},
		{"a,1,2,-;x", KernelLine{}, true},
		{"4,-1,2,-;x", KernelLine{}, true},
	}
	for _, tt := range tests {
		got, err := parseKmsg(tt.record)
		must.Be(t, got == tt.want && (err != nil) == tt.bad, tt.record, got, err, tt.want, "error", tt.bad)
	}
}

// fakeDevice is a ring buffer of records: a list of texts and errors to return.
type fakeDevice struct{ queue []any }

func (d *fakeDevice) ReadRecord(buffer []byte) (int, error) {
	if len(d.queue) == 0 {
		return 0, errNoRecord
	}
	next := d.queue[0]
	if text, ok := next.(string); ok && len(text) > len(buffer) {
		return 0, errTooLong
	}
	d.queue = d.queue[1:]
	if err, ok := next.(error); ok {
		return 0, err
	}
	return copy(buffer, next.(string)), nil
}

func (*fakeDevice) Close() error { return nil }

func (d *fakeDevice) say(records ...any) { d.queue = append(d.queue, records...) }

func rec(seq int, text string) string { return fmt.Sprintf("4,%d,1000,-;%s\n", seq, text) }

func texts(lines []KernelLine) string {
	var list []string
	for _, l := range lines {
		list = append(list, l.Text)
	}
	return strings.Join(list, "|")
}

func TestKmsg(t *testing.T) {
	device := &fakeDevice{}
	device.say(rec(7, "old"), rec(8, "older"))
	k := must.Get(newKmsg(device))(t)
	drain := func(step, want string, wantLost uint64, wantSome bool) {
		t.Helper()
		lines, lost, some, err := k.Drain(t.Context())
		must.Be(t, err == nil && texts(lines) == want && lost == wantLost && some == wantSome, step,
			texts(lines), "lost", lost, some, err, "want", want, wantLost, wantSome)
	}
	drain("nothing new", "", 0, false)
	device.say(rec(9, "a"), rec(10, "b"))
	drain("two new", "a|b", 0, false)
	device.say(errOverwritten, rec(15, "c"))
	drain("overwritten: 11 to 14 are lost", "c", 4, false)
	device.say(rec(16, strings.Repeat("x", 40000)))
	drain("longer than the buffer", strings.Repeat("x", 40000), 0, false)
	device.say("rubbish\n", rec(17, "d"))
	drain("what does not parse is kept", "rubbish|d", 0, false)
	device.say(syscall.EIO)
	_, _, _, err := k.Drain(t.Context())
	must.Fail(t, err, syscall.EIO, "broken device")
}

// TestKmsgLostBeforeTheFirst: without a previous message, only the fact that some were lost is
// known.
func TestKmsgLostBeforeTheFirst(t *testing.T) {
	device := &fakeDevice{}
	k := must.Get(newKmsg(device))(t)
	device.say(errOverwritten, rec(100, "a"))
	lines, lost, some, err := k.Drain(t.Context())
	must.Be(t, err == nil && texts(lines) == "a" && lost == 0 && some, texts(lines), "lost", lost, some, err)
}

func TestAfterSortsAndReadsTwice(t *testing.T) {
	device := &fakeDevice{}
	k, err := newKmsg(device)
	must.Do(t, err)
	clock := &lateClock{device: device, late: rec(5, "written without a newline at first")}
	device.say("3,1,1000,-;mce: [Hardware Error]: Machine check events logged\n",
		"30,2,1000,-;systemd[1]: Started Session 3.\n",
		"6,3,1000,-;e1000e 0000:00:1f.6 eth0: NIC Link is Down\n", "12,4,1000,-;krund-test: hello\n")
	r := must.Get(
		After(t.Context(), k, clock, append(DefaultAllow(), regexp.MustCompile("nothing like it"))))(t)
	if want := "mce: [Hardware Error]: Machine check events logged|krund-test: hello|written without a " +
		"newline at first"; texts(r.Unexpected) != want || r.Expected != 2 || r.Lost != 0 {
		t.Errorf("%+v, want %q", r, want)
	}
	device.say("12,6,1000,-;krund-test: hello\n")
	r, err = After(t.Context(), k, &fakeClock{}, []*regexp.Regexp{regexp.MustCompile("^krund-test: ")})
	must.Be(t, err == nil && len(r.Unexpected) == 0 && r.Expected == 1, "an allowed line", r, err)
}

// lateClock makes a message arrive during a sleep.
type lateClock struct {
	fakeClock
	device *fakeDevice
	late   string
}

func (c *lateClock) Sleep(ctx context.Context, d time.Duration) error {
	c.device.say(c.late)
	return c.fakeClock.Sleep(ctx, d)
}

func TestDefaultAllow(t *testing.T) {
	allow := DefaultAllow()
	harmless := []string{
		"e1000e 0000:00:1f.6 eno1: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: Rx/Tx",
		"r8169 0000:02:00.0 enp2s0: Link is Down",
		"IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
		"igb 0000:01:00.0 eth0: igb: eth0 NIC Link is Down", "br0: port 1(vnet0) entered forwarding state",
		"device eth0 entered promiscuous mode", "eth0: entered promiscuous mode",
		"EXT4-fs (sda2): mounted filesystem with ordered data mode",
		"audit: type=1400 audit(1.2:3): apparmor=\"STATUS\"",
		"systemd-journald[300]: Received client request", "random: crng init done",
		"e1000e 0000:00:19.0 enp0s25: renamed from eth0",
	}
	alarming := []string{
		"ata1: SATA link down (SStatus 0 SControl 300)", "pcieport 0000:00:1c.0: pciehp: Slot(0): Link Down",
		"perf: interrupt took too long (2527 > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
		"CPU0: Package temperature above threshold, cpu clock throttled (total events = 1)",
		"mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 4",
		"Out of memory: Killed process 123 (java)",
		"clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable",
		"EXT4-fs error (device sda1): ext4_find_entry: reading directory lblock 0", "krund-test: hello", "",
	}
	for _, text := range harmless {
		must.Be(t, expected(KernelLine{Text: text}, allow), "flagged", text)
	}
	for _, text := range alarming {
		must.Be(t, !expected(KernelLine{Text: text}, allow), "not flagged", text)
	}
}

func TestNewLines(t *testing.T) {
	split := func(text string) []string { return strings.Fields(text) }
	tests := []struct {
		name, before, now, want string
		lost                    bool
	}{
		{"nothing new", "a b c", "a b c", "", false},
		{"two more", "a b", "a b c d", "c d", false},
		{"wrapped", "a b c d", "c d e", "e", false},
		{"the first line that is left is cut", "alpha beta gamma", "ta gamma delta", "delta", false},
		{"all but a part of one wrapped", "alpha beta", "ta x y z", "x y z", false},
		{"all wrapped", "a b c", "x y z", "x y z", true},
		{"same lines again", "a a a", "a a a a", "a", false},
		{"was empty", "", "a b", "a b", false},
		{"cleared", "a b", "", "", true},
	}
	for _, tt := range tests {
		got, lost := newLines(split(tt.before), split(tt.now))
		must.Be(t, strings.Join(got, " ") == tt.want && lost == tt.lost, tt.name, got, lost, tt.want, tt.lost)
	}
}

func TestDmesg(t *testing.T) {
	commands := scripted{"dmesg": "OpenBSD 7.4 (GENERIC.MP)\ncpu0: Intel\n"}
	d := must.Get(newDmesg(t.Context(), commands))(t)
	commands["dmesg"] += "em0: watchdog timeout -- resetting\n"
	lines, _, some, err := d.Drain(t.Context())
	must.Be(t, err == nil && texts(lines) == "em0: watchdog timeout -- resetting" && !some, texts(lines),
		some, err)
	if lines, _, _, err := d.Drain(t.Context()); err != nil || len(lines) != 0 {
		t.Errorf("again: %q, %v", texts(lines), err)
	}
	delete(commands, "dmesg")
	_, _, _, err = d.Drain(t.Context())
	must.Be(t, err != nil, "no error without dmesg")
	must.Refused(newDmesg(t.Context(), nil))(t, "", "no error without programs")
}

func TestKernelLineString(t *testing.T) {
	must.Equal(t, (KernelLine{Micros: 12345678, Text: "x"}).String(), "[   12.345678] x")
	must.Equal(t, (KernelLine{Text: "x"}).String(), "x")
}

func FuzzParseKmsg(f *testing.F) {
	f.Add("6,339,5140900,-;NET\\x09\n A=b\n")
	f.Add(";,,,")
	f.Fuzz(func(t *testing.T, record string) {
		l, err := parseKmsg(record)
		must.Be(t, err != nil || l.Level >= 0 && l.Level <= 7 && l.Facility >= 0 &&
			len(l.Text) <= len(record), record, l)
	})
}

// FuzzNewLines: new lines are found however much the ring buffer has lost, unless it has lost
// everything.
func FuzzNewLines(f *testing.F) {
	f.Add("a\nb\nc", "d\ne", 1)
	f.Add("x\nx\nx", "x", 2)
	f.Fuzz(func(t *testing.T, before, added string, drop int) {
		old := splitLines(before)
		all := append(slices.Clone(old), splitLines(added)...)
		drop = min(max(drop, 0), max(len(old)-1, 0))
		fresh, lost := newLines(old, all[drop:])
		must.Be(t, len(old) == 0 || drop >= len(old) || !lost, "lost though", len(old)-drop, "lines are left")
		must.Be(t, len(fresh) <= len(splitLines(added))+drop, len(fresh), "lines are new, of",
			len(splitLines(added)))
	})
}
