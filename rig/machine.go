package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Machine is a machine with its disk, on or off. Its methods fail the test for which it was
// created, or the one passed to For; they are not safe for concurrent use. At the end of the test
// the power is cut; if the test failed, its log then contains krund's log.
type Machine struct {
	tb testing.TB
	*machine
}

// machine is the state shared by all views of a Machine.
type machine struct {
	image     Image
	options   Options
	dir       string
	console   *console
	log       io.WriteCloser // copy of the console; nil if it is not kept
	ports     map[uint16]byte
	payload   string // tar to unpack in the next start; "" for none
	given     int    // console index at which the payload was given
	loader    bool   // the boot disk's boot loader starts the machine
	unplugged bool   // the network cable
	power     *power // the last start; nil before the first
	begun     int    // console index at which the last start began
	seen      int    // console index up to which waits have looked
	figures   figures
}

// New creates a machine with a fresh disk. It is off.
func New(tb testing.TB, o Options) *Machine {
	tb.Helper()
	image := FindImage(tb)
	o = o.withDefaults()
	skipWithoutTime(tb, o.Time)
	m := &Machine{tb: tb, machine: &machine{
		image: image, options: o, dir: tb.TempDir(), console: newConsole(), ports: map[uint16]byte{},
	}}
	m.figures.begin(tb)
	m.openLog()
	tb.Cleanup(m.close)
	var files Payload
	if o.Payload != nil {
		files.Merge(o.Payload)
	}
	if o.MSR {
		m.addMSR(&files)
	}
	if o.Network {
		addNetwork(&files)
	}
	m.Install(&files)
	ctx, cancel := m.limit("copy the disk")
	defer cancel()
	m.check(copyDisk(ctx, image.file("root.img"), m.disk()))
	if m.options.BootDisk {
		m.check(makeBootDisk(m.bootDisk()))
	}
	return m
}

// Boot creates a machine, applies power, and waits until it accepts commands.
func Boot(tb testing.TB, o Options) *Machine {
	tb.Helper()
	m := New(tb, o)
	m.PowerOn()
	m.WaitUp()
	return m
}

// For returns the same machine for a subtest: failures end tb instead.
func (m *Machine) For(tb testing.TB) *Machine { return &Machine{tb: tb, machine: m.machine} }

func (m *Machine) disk() string { return filepath.Join(m.dir, "disk.raw") }

// Install sets the files to unpack over the machine's disk in its next start. The machine must be
// off.
func (m *Machine) Install(files *Payload) {
	m.tb.Helper()
	m.mustBeOff("Install")
	if files.empty() {
		return
	}
	m.payload = filepath.Join(m.dir, "payload.tar")
	m.given = m.console.len()
	f, err := os.Create(m.payload)
	m.check(err)
	m.check(errors.Join(files.writeTar(f), f.Close()))
}

// SetKernelArguments replaces Options.Kernel, from the next start on.
func (m *Machine) SetKernelArguments(args string) { m.options.Kernel = args }

// On reports whether the machine has power.
func (m *Machine) On() bool {
	if m.power == nil {
		return false
	}
	select {
	case <-m.power.off:
		return false
	default:
		return true
	}
}

// PowerOn applies power to a machine that is off.
func (m *Machine) PowerOn() {
	m.tb.Helper()
	m.mustBeOff("PowerOn")
	m.collect()
	if m.payload != "" && m.unpacked() {
		m.payload = ""
	}
	m.begun = m.console.len()
	m.seen = m.begun
	m.figures.boots = m.console.startBoot()
	out := io.Writer(m.console)
	if m.log != nil {
		fmt.Fprintf(m.log, "--- power on %d\n", m.figures.boots)
		out = io.MultiWriter(m.console, m.log)
	}
	ctx, cancel := m.limit("start QEMU")
	defer cancel()
	p, err := startPower(ctx, m.options.arguments(m.image, m.drives()), out)
	m.check(err)
	m.power = p
	for port, value := range m.ports {
		m.check(p.qmp.outb(ctx, port, value))
	}
	if m.unplugged {
		m.check(p.setLink(ctx, false))
	}
	m.check(p.qmp.execute(ctx, "cont", nil, nil))
}

// unpacked reports whether a start has durably unpacked the payload. After a cut before that, the
// next start unpacks it again.
func (m *Machine) unpacked() bool {
	lines, _ := m.console.snapshot(m.given)
	return slices.ContainsFunc(lines, func(l Line) bool { return l.Text == "RIG-PAYLOAD-OK" })
}

// PowerCut cuts the power immediately: the guest's memory, including its page cache, is lost.
func (m *Machine) PowerCut() {
	if !m.On() {
		if m.power != nil {
			m.power.known = true // it has just ended by itself
		}
		return
	}
	m.power.kill()
	m.power.known = true
	if m.power.how.Reason == OffCut {
		m.figures.cuts++
	}
}

// PowerCutAfter cuts the power d from now, in host time. How far the guest gets until then depends
// on the load of the host, so tests must hold whenever it happens. If the machine is off before, it
// stays off.
func (m *Machine) PowerCutAfter(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-ctx.Done():
		m.PowerCut()
	case <-m.mustBeOn().off:
	}
}

// RunAndCut cuts the power d from now, however often the machine reboots itself until then; it
// applies power first if the machine is off.
func (m *Machine) RunAndCut(d time.Duration) {
	m.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	for {
		if !m.On() {
			m.PowerOn()
		}
		select {
		case <-ctx.Done():
			m.PowerCut()
			return
		case <-m.power.off:
			if off := m.WaitOff(); off.Reason != OffRebooted {
				m.fatal(fmt.Errorf("the machine ended with %s before the cut", off.Reason))
			}
		}
	}
}

// ResetButton presses the reset button: for the guest it is like a power cut, and the machine is
// off afterwards.
func (m *Machine) ResetButton() Off {
	m.tb.Helper()
	ctx, cancel := m.limit("reset")
	defer cancel()
	m.check(m.mustBeOn().qmp.execute(ctx, "system_reset", nil, nil))
	return m.WaitOff()
}

// WaitOff waits until the guest has powered off or reset the machine. A machine that was reset is
// off, too: PowerOn starts it again.
func (m *Machine) WaitOff() Off {
	m.tb.Helper()
	p := m.power
	if p == nil {
		m.fatal(errors.New("WaitOff: the machine was never on"))
	}
	ctx, cancel := m.limit("the machine goes off")
	defer cancel()
	select {
	case <-p.off:
	case <-ctx.Done():
		m.fatal(fmt.Errorf("the machine is still on: %w", context.Cause(ctx)))
	}
	p.known = true
	if p.how.Reason == OffBroken {
		m.fatal(fmt.Errorf("the emulator ended: %s", p.how.Detail))
	}
	return p.how
}

// WaitReboot is WaitOff for a machine that must restart itself.
func (m *Machine) WaitReboot() {
	m.tb.Helper()
	if off := m.WaitOff(); off.Reason != OffRebooted {
		m.fatal(fmt.Errorf("the machine ended with %s, want a restart", off.Reason))
	}
}

// WaitConsole waits for a line of this start's console after the last line found by a wait, and
// returns the match and its groups. The machine may be off: what it printed before still counts.
func (m *Machine) WaitConsole(pattern string) []string {
	m.tb.Helper()
	ctx, cancel := m.limit(pattern)
	defer cancel()
	groups, err := m.waitConsole(ctx, regexp.MustCompile(pattern))
	m.check(err)
	return groups
}

// errMachineOff is the reason why a wait for the console ends when the machine does.
var errMachineOff = errors.New("the machine went off")

func (m *machine) waitConsole(ctx context.Context, match *regexp.Regexp) ([]string, error) {
	if m.power == nil {
		return nil, errors.New("the machine was never on")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func(off <-chan struct{}) {
		select {
		case <-off:
			cancel(errMachineOff)
		case <-done:
		}
	}(m.power.off)
	groups, next, err := m.console.wait(ctx, m.seen, match)
	m.seen = next
	return groups, err
}

// RunUntil lets the machine reboot itself, applying power each time, until a console line matches;
// it returns the match and its groups. It fails if the machine powers itself off, or needs more
// than boots further starts. If the test knows that the machine is off (it cut the power, called
// WaitOff, or never switched it on), it is started first, and that start is not counted.
func (m *Machine) RunUntil(pattern string, boots int) []string {
	m.tb.Helper()
	match := regexp.MustCompile(pattern)
	if m.power == nil || m.power.known {
		m.PowerOn()
	}
	for used := 0; ; used++ {
		ctx, cancel := m.limit(pattern)
		groups, err := m.waitConsole(ctx, match)
		cancel()
		if err == nil {
			return groups
		}
		if !errors.Is(err, errMachineOff) {
			m.fatal(err)
		}
		if off := m.WaitOff(); off.Reason != OffRebooted {
			m.fatal(fmt.Errorf("%s not seen: the machine ended with %s", pattern, off.Reason))
		}
		if used == boots {
			m.fatal(fmt.Errorf("%s not seen in %d starts", pattern, boots+1))
		}
		m.PowerOn()
	}
}

// WaitOffOr waits until the machine is off, or until a line of this start's console matches after
// the last line found by a wait: on reports which. Unlike WaitOff, it is for a machine that may
// stay on.
func (m *Machine) WaitOffOr(pattern string) (off Off, on bool) {
	m.tb.Helper()
	m.mustBeOn()
	ctx, cancel := m.limit(pattern)
	defer cancel()
	_, err := m.waitConsole(ctx, regexp.MustCompile(pattern))
	switch {
	case err == nil:
		return Off{}, true
	case !errors.Is(err, errMachineOff):
		m.fatal(err)
	}
	return m.WaitOff(), false
}

// Console returns all lines of all starts.
func (m *Machine) Console() []Line {
	lines, _ := m.console.snapshot(0)
	return lines
}

// ConsoleOfThisStart returns the lines since the last PowerOn.
func (m *Machine) ConsoleOfThisStart() []Line {
	lines, _ := m.console.snapshot(m.begun)
	return lines
}

// Starts returns the number of times power was applied.
func (m *Machine) Starts() int { return m.figures.boots }

func (m *Machine) mustBeOn() *power {
	m.tb.Helper()
	if m.power == nil {
		m.fatal(errors.New("the machine was never on"))
	}
	return m.power
}

func (m *Machine) mustBeOff(what string) {
	m.tb.Helper()
	if m.On() {
		m.fatal(fmt.Errorf("%s: the machine is on", what))
	}
}

// check fails the test with err unless it is nil.
func (m *Machine) check(err error) {
	if err != nil {
		m.tb.Helper()
		m.fatal(err)
	}
}

// fatal fails the test and shows the end of the console. It skips a test for which the run had no
// time.
func (m *Machine) fatal(err error) {
	m.tb.Helper()
	if errors.Is(err, errNoTime) {
		m.figures.noTime = true
		m.tb.Skipf("no time: %v", err)
	}
	m.tb.Fatalf("rig: %v\nconsole:\n%s", err, m.console.tail(30))
}

// collect adds the cost of the last start to the figures.
func (m *machine) collect() {
	if m.power == nil || m.power.told {
		return
	}
	m.power.told = true
	m.figures.cpu += m.power.how.CPU
	if m.power.how.Reason == OffPort {
		m.figures.cuts++
	}
}

func (m *Machine) openLog() {
	dir := os.Getenv(envLogs)
	if dir == "" {
		return
	}
	m.check(os.MkdirAll(dir, 0o755))
	f, err := os.OpenFile(filepath.Join(dir, m.logName()+".console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o644)
	m.check(err)
	m.log = f
}

// logName returns the test's name as part of a file name.
func (m *Machine) logName() string {
	return strings.NewReplacer("/", "-", " ", "_").Replace(m.tb.Name())
}

func (m *Machine) close() {
	m.explain()
	if m.On() {
		m.power.kill()
	}
	m.collect()
	if m.log != nil {
		_ = m.log.Close()
	}
	m.figures.end(m.tb)
}
