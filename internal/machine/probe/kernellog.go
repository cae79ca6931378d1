package probe

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// kernelLog declares the probe of this file.
var kernelLog = setting.Descriptor{
	Name: "kernel_log", Policy: setting.Warn,
	Brief: "no unexpected kernel messages during a run",
	Why:   "the kernel reports hardware problems there",
	What:  "`/dev/kmsg` from just before to just after the run, by sequence number; `dmesg` on OpenBSD",
	Notes: "lines of the kernel, and of programs that write to `/dev/kmsg` without a facility of their " +
		"own. Known harmless ones (network up and down, mounts, auditing) and those that `[kernel_log] " +
		"allow` matches are not flagged. Lost lines are counted",
}

// A KernelLine is one message of the kernel's log.
type KernelLine struct {
	Seq uint64 // counts messages since boot; 0 on OpenBSD, which does not number them
	// 0 the kernel itself, 1 a program that named none, 3 daemons such as systemd (see syslog(3))
	Facility int
	Level    int   // 0 emergency to 7 debug; 6 on OpenBSD, which does not report it
	Micros   int64 // microseconds since boot; 0 on OpenBSD
	Text     string
}

// String formats the line like dmesg(1).
func (l KernelLine) String() string {
	if l.Micros == 0 {
		return l.Text
	}
	return fmt.Sprintf("[%5d.%06d] %s", l.Micros/1e6, l.Micros%1e6, l.Text)
}

// A KernelReport is the kernel's messages during a run.
type KernelReport struct {
	Unexpected []KernelLine // neither allowed by a pattern nor from a daemon
	Expected   int          // number of other lines
	Lost       uint64       // messages that were overwritten before they could be read
	LostSome   bool         // messages were lost, but their number is unknown
}

// A KernelLog follows the kernel log from its creation on. Close releases it.
type KernelLog interface {
	// Drain returns the messages since the last call, and the number of those that were lost.
	Drain(context.Context) (lines []KernelLine, lost uint64, lostSome bool, err error)
	Close() error
}

// settle is the time after which After reads a second time: a message written without a newline is
// not shown to readers until the next message arrives or the kernel terminates it.
const settle = 100 * time.Millisecond

// After reads a log after a run, twice with a pause, and classifies the lines.
func After(ctx context.Context, log KernelLog, clock sysroot.Clock,
	allow []*regexp.Regexp) (KernelReport, error) {
	var r KernelReport
	for i := range 2 {
		if i > 0 {
			if err := clock.Sleep(ctx, settle); err != nil {
				return r, err
			}
		}
		lines, lost, some, err := log.Drain(ctx)
		r.Lost += lost
		r.LostSome = r.LostSome || some
		for _, l := range lines {
			if expected(l, allow) {
				r.Expected++
				continue
			}
			r.Unexpected = append(r.Unexpected, l)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// Facilities of syslog(3) whose messages are judged: the kernel's, and those of programs that write
// to /dev/kmsg without a facility. What daemons write there about themselves (systemd starting a
// unit) does not come from the kernel.
const (
	facilityKernel = 0
	facilityUser   = 1
)

// expected reports whether a line is harmless.
func expected(l KernelLine, allow []*regexp.Regexp) bool {
	if l.Facility != facilityKernel && l.Facility != facilityUser {
		return true
	}
	return slices.ContainsFunc(allow, func(p *regexp.Regexp) bool { return p.MatchString(l.Text) })
}

// DefaultAllow returns the built-in patterns of harmless messages: network interfaces going up and
// down (krund itself causes that), bridges, auditing, mounts, and systemd's own lines. It never
// includes messages about the processor, memory or disks, nor perf lowering its sample rate, which
// means that the perf_rate control is missing.
func DefaultAllow() []*regexp.Regexp {
	// Names of network interfaces. Without them, "link down" would also excuse a lost disk (ata1:
	// SATA link down) or PCI slot.
	const nic = `\b(eth|en|wl|ww|br|bond|team|veth|vnet|virbr|docker|tun|tap|ib|lan|usb|dummy|macv)[A-Za-z0-9_.-]*`
	patterns := []string{
		nic + `:? (NIC )?[Ll]ink (is )?([Uu]p|[Dd]own|becomes ready)`,
		nic + `: (NIC )?[Ll]ink status is `,
		`\bIPv6: ADDRCONF\(NETDEV_(UP|CHANGE)\): `,
		nic + `:? (entered|left) (promiscuous|allmulticast) mode`,
		nic + `\) entered (disabled|blocking|listening|learning|forwarding) state`,
		nic + `: renamed from `,
		nic + `: carrier (lost|acquired)`,
		`^8021q: `,
		`^audit: `,
		`^kauditd_`,
		`^random: crng (init done|reseeded)`,
		`^(EXT4-fs|XFS|BTRFS)\b.*\b([Mm]ounted|[Mm]ounting|re-mounted|[Uu]nmounting|Ending clean mount)\b`,
		`^systemd(-[a-z]+)?\[\d+\]: `,
	}
	allow := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		allow[i] = regexp.MustCompile(p)
	}
	return allow
}

var (
	errNoRecord    = errors.New("no record yet")
	errOverwritten = errors.New("records were overwritten")
	errTooLong     = errors.New("record does not fit")
)

// parseKmsg parses one record of /dev/kmsg (docs.kernel.org, ABI/testing/dev-kmsg):
//
//	6,339,5140900,-;NET: Registered protocol family 10
//	 SUBSYSTEM=acpi
//
// These are: priority (facility and level combined), sequence number, microseconds since boot,
// flags and possibly more fields, then the text with control characters as \xNN, then lines with
// properties, which are ignored.
func parseKmsg(record string) (KernelLine, error) {
	head, rest, found := strings.Cut(record, ";")
	fields := strings.Split(head, ",")
	if !found || len(fields) < 3 {
		return KernelLine{}, fmt.Errorf("kernel log: %q is not a record", display.Head(record, excerpt))
	}
	priority, err1 := strconv.ParseUint(fields[0], 10, 16)
	seq, err2 := strconv.ParseUint(fields[1], 10, 64)
	micros, err3 := strconv.ParseInt(fields[2], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return KernelLine{}, fmt.Errorf("kernel log: %q is not a record", display.Head(record, excerpt))
	}
	text, _, _ := strings.Cut(rest, "\n")
	return KernelLine{Seq: seq, Facility: int(priority >> 3), Level: int(priority & 7), Micros: micros,
		Text: unescapeHex(text)}, nil
}

// unescapeHex replaces \xNN by the byte, unless the text would then be unprintable: the kernel
// prints names of processes, which the benchmark can choose.
func unescapeHex(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) && text[i+1] == 'x' {
			if n, err := strconv.ParseUint(text[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	if plain := b.String(); display.Printable(plain) && !strings.Contains(plain, "\n") {
		return plain
	}
	return text
}

// kmsgReader reads one record per call, like /dev/kmsg. The error is errNoRecord if there is none
// yet, errOverwritten if the next one was overwritten (the following call returns the oldest
// available one), and errTooLong if it does not fit.
type kmsgReader interface {
	ReadRecord(buffer []byte) (int, error)
	Close() error
}

// kmsg follows /dev/kmsg by sequence numbers.
type kmsg struct {
	device kmsgReader
	buffer []byte
	next   uint64 // the expected next sequence number
	known  bool   // next is known
}

// newKmsg reads everything that is already in the log, so that the sequence number of the next
// message is known.
func newKmsg(device kmsgReader) (*kmsg, error) {
	// The kernel's own limit for a record with its properties is 8192 bytes (CONSOLE_EXT_LOG_MAX).
	k := &kmsg{device: device, buffer: make([]byte, 16<<10)}
	_, _, err := k.read(func(KernelLine) {})
	return k, err
}

// Drain returns the messages since the last call.
func (k *kmsg) Drain(context.Context) (lines []KernelLine, lost uint64, lostSome bool, err error) {
	lost, lostSome, err = k.read(func(l KernelLine) { lines = append(lines, l) })
	return lines, lost, lostSome, err
}

// Close closes the device.
func (k *kmsg) Close() error { return k.device.Close() }

// drainMost bounds the number of records that one call reads, so that a kernel that logs faster
// than it can be read does not block krund forever.
const drainMost = 1 << 20

// read passes every available record to yield. Records that do not parse are passed unchanged,
// because the log of a failing machine is valuable in any form.
func (k *kmsg) read(yield func(KernelLine)) (lost uint64, lostSome bool, err error) {
	for range drainMost {
		n, err := k.device.ReadRecord(k.buffer)
		switch {
		case errors.Is(err, errNoRecord):
			return lost, lostSome, nil
		case errors.Is(err, errOverwritten):
			lostSome = lostSome || !k.known // otherwise the next sequence number reveals the number
			continue
		case errors.Is(err, errTooLong) && len(k.buffer) < 1<<20:
			k.buffer = make([]byte, 2*len(k.buffer))
			continue
		case err != nil:
			return lost, lostSome, fmt.Errorf("read kernel log: %w", err)
		}
		line, err := parseKmsg(string(k.buffer[:n]))
		if err != nil {
			yield(KernelLine{Level: 3, Text: strings.TrimSpace(string(k.buffer[:n]))})
			continue
		}
		if k.known && line.Seq > k.next {
			lost += line.Seq - k.next
		}
		k.next, k.known = line.Seq+1, true
		yield(line)
	}
	return lost, lostSome, errors.New("read kernel log: messages arrive faster than they can be read")
}

// dmesg follows the log of a system that only returns all of it, by comparing two readings.
type dmesg struct {
	commands host.Commands
	before   []string
}

// newDmesg remembers the log as it is.
func newDmesg(ctx context.Context, c host.Commands) (*dmesg, error) {
	d := &dmesg{commands: c}
	_, _, _, err := d.Drain(ctx)
	return d, err
}

// Drain returns the new lines.
func (d *dmesg) Drain(ctx context.Context) (lines []KernelLine, lost uint64, lostSome bool, err error) {
	if d.commands == nil {
		return nil, 0, false, errors.New("read kernel log: this system has no dmesg")
	}
	out, err := d.commands.Output(ctx, "dmesg")
	if err != nil {
		return nil, 0, false, fmt.Errorf("read kernel log: %w", err)
	}
	now := splitLines(string(out))
	fresh, lostSome := newLines(d.before, now)
	d.before = now
	for _, text := range fresh {
		lines = append(lines, KernelLine{Level: 6, Text: text})
	}
	return lines, 0, lostSome, nil
}

// Close does nothing.
func (*dmesg) Close() error { return nil }

// splitLines splits a text into lines without their ends; an empty text has no lines.
func splitLines(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// newLines returns the lines of a ring buffer that were added since it was last read. The buffer
// loses lines at its front, and its first line may be truncated, so newLines looks for the longest
// tail of before with which the buffer begins. If there is none, all lines are new, and some new
// lines were lost.
func newLines(before, now []string) (fresh []string, lost bool) {
	if len(before) == 0 {
		return now, false
	}
	for skip := range before {
		if tail := before[skip:]; beginsWith(now, tail) {
			return now[len(tail):], false
		}
	}
	return now, true
}

// beginsWith reports whether lines begin with head, whose first line may have lost its beginning.
func beginsWith(lines, head []string) bool {
	if len(lines) < len(head) || !strings.HasSuffix(head[0], lines[0]) || lines[0] == "" && head[0] != "" {
		return false
	}
	for i := 1; i < len(head); i++ {
		if lines[i] != head[i] {
			return false
		}
	}
	return true
}
