package probe

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"krund/internal/experiment/config/setting"
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
