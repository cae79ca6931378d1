package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/execution/account"
	"krund/internal/execution/identity"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// LabMachine joins the controls (internal/control) and the probes (internal/machine/probe) into the
// Machine of a boot. Those packages define what each setting and reading means; LabMachine calls
// them in order and translates the results into the terms of the record. Tests use it with a copy
// of a machine's files.
type LabMachine struct {
	Control *control.Machine
	// starts the guard, which restores the machine when krund is killed; nil: there is none
	Guard func(context.Context) (Guard, error)
	// krund ended in order before a restart of the machine: leftover settings are expected
	RestartExpected bool
	Settings        control.Request
	MakeAccount     func(context.Context) (account.Account, []string, error) // account.Fresh
	Root            bool                                                     // krund is root
	FS              durable.FS
	Journal         string // path of the journal of settings
	Spare           string // path of its copy on another file system; "" for none
	Clock           sysroot.Clock
	Log             *slog.Logger
	Temperature     config.TemperatureGate
	Probes          probe.Request
	// kernel messages that are harmless, in addition to the built-in list
	Allow    []*regexp.Regexp
	Extra    map[string]string  // for the fingerprint
	Origin   string             // path of the fingerprint of the machine that the experiment began on
	Programs *identity.Programs // the files measured, for the fingerprint; nil for none
	// ReadOffset; nil if the system has no such clock
	Offset func() (ClockOffset, error)

	warned bool // of a virtual machine
}

// Guard restores the machine when krund cannot; *guard.Guard is one.
type Guard interface {
	Dismiss() error         // everything has been restored
	HandOver() error        // it has not, and krund gives up
	AnnounceRestart() error // it has not, because a restart of the machine resets the settings
}

// warn logs, once, that this is a virtual machine.
func (m *LabMachine) warn(virtual setting.Finding) {
	if m.warned || virtual.Status == setting.StatusOK || virtual.Status == setting.StatusOff {
		return
	}
	m.warned = true
	m.Log.Warn("this is a virtual machine: "+virtual.Fix, "found", virtual.Found)
}

func row(f setting.Finding) results.Control {
	return results.Control{
		Name: f.Name, Policy: string(f.Policy), Status: string(f.Status), Wanted: f.Wanted, Found: f.Found,
		Detail: f.Detail,
	}
}

func sentences(problems []setting.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Base reads the temperatures of the machine at rest. It returns none if temperatures are not
// configured.
func (m *LabMachine) Base(ctx context.Context) ([]results.Temperature, error) {
	if m.Probes.Temperature == setting.Off {
		return nil, nil
	}
	now := probe.ReadTemperatures(ctx, m.Control.Host)
	for _, remark := range now.Remarks {
		m.Log.Warn("temperature", "remark", remark)
	}
	if len(now.Readings) == 0 && m.Probes.Temperature == setting.Require {
		return nil, errors.New("this machine has no readable temperature sensors and controls.temperature " +
			"is \"require\"; set it to \"warn\", or: " + probe.PlatformOf(m.Control.Host).Remedy("sensors"))
	}
	return now.Readings, nil
}

// Settle waits until the machine has been quiet for a window, at most as long as limit.
func (m *LabMachine) Settle(ctx context.Context, window, limit time.Duration) (results.Settle, error) {
	show := func(busy []string) { m.Log.Debug("not quiet yet", "busy", strings.Join(busy, "; ")) }
	s, err := probe.Quiet{Host: m.Control.Host, Clock: m.Clock, Window: window, Limit: limit,
		Show: show}.Wait(ctx)
	m.Log.Debug("settled", "waited", time.Duration(s.WaitedNS).String(), "quiet", s.Quiet, "busy",
		strings.Join(s.Busy, "; "))
	return s, err
}

// Gate waits for the base temperatures. It fails only if the configuration requires them.
func (m *LabMachine) Gate(ctx context.Context, base []results.Temperature) (remarks []string, err error) {
	switch {
	case m.Probes.Temperature == setting.Off || m.Probes.Temperature == setting.Warn:
		return nil, nil
	case len(base) == 0 && m.Probes.Temperature == setting.Require:
		return nil, errors.New("controls.temperature is \"require\", and the experiment has no base " +
			"temperatures to wait for")
	case len(base) == 0:
		return nil, nil
	}
	limits := probe.GateSettings{Tolerance: m.Temperature.Tolerance, Timeout: m.Temperature.Timeout,
		Sensors: m.Temperature.Sensors}
	gate := probe.Gate{
		Clock: m.Clock, Demand: m.Probes.Temperature == setting.Require,
		Read: func(ctx context.Context) probe.Temperatures {
			return probe.ReadTemperatures(ctx,
				m.Control.Host)
		},
		Heat: func(ctx context.Context, d time.Duration) error { return probe.Heat(ctx, m.Clock, d) },
	}
	passed, err := gate.Wait(ctx, base, limits)
	for _, remark := range passed.Remarks {
		m.Log.Warn("temperature", "remark", remark)
	}
	m.Log.Debug("temperature gate", "waited", passed.Waited.String(), "heated", passed.Heated)
	if errors.Is(err, probe.ErrTemperature) && m.Probes.Temperature != setting.Require {
		m.Log.Warn("temperature", "error", err)
		return append(passed.Remarks, err.Error()), nil
	}
	return passed.Remarks, err
}

// Watch takes the readings before a run; the function it returns takes those after it, and reads
// the settings that were applied again. The remarks are those of Gate.
func (m *LabMachine) Watch(ctx context.Context, applied Applied,
	remarks []string) (func(context.Context) Observation, error) {
	var seen Observation
	if m.Probes.Fingerprint != setting.Off {
		now := probe.ReadFingerprint(ctx, m.Control.Host, m.more(ctx))
		maps.Copy(now, probe.ReadState(m.Control.Host))
		maps.Copy(now, applied.found)
		changed, err := m.compare(now)
		if err != nil {
			return nil, err
		}
		seen.Machine.Fingerprint, seen.Remarks = now, changed
	}
	if m.Probes.Temperature != setting.Off {
		seen.Machine.Temperatures.Before = readings(probe.ReadTemperatures(ctx, m.Control.Host))
	}
	seen.Remarks = slices.Concat(seen.Remarks, applied.Remarks, remarks)
	throttle, err := m.readThrottle()
	if err != nil {
		return nil, err
	}
	seen.Machine.Throttle.Before = counts(throttle)
	if m.Probes.PowerLimits != setting.Off {
		seen.Machine.PowerLimits = probe.ReadPowerLimits(m.Control.Root)
	}
	log, err := m.watchLog(ctx)
	if err != nil {
		return nil, err
	}
	if m.Control.Root.IsMachine() {
		seen.Machine.TSCKHz = probe.TSCKHz()
	}
	offset, limits := m.readOffset(), m.Control.Limits()
	shielded := slices.ContainsFunc(applied.Controls, func(c results.Control) bool {
		return (c.Name == "shield" || c.Name == "irq_affinity") && setting.Policy(c.Policy).Changes()
	})
	before := probe.ReadActivity(m.Control.Host, m.Clock.Now(), ownTime(), applied.CPUs...)
	return func(ctx context.Context) Observation {
		now := probe.ReadActivity(m.Control.Host, m.Clock.Now(), ownTime(), applied.CPUs...)
		load := now.Since(before, os.Getpid(), applied.CPUs)
		seen.Remarks = append(seen.Remarks,
			probe.Noticed(m.Control.Host, applied.CPUs, shielded, before, now)...)
		seen.Machine.Load = &load
		seen.Disturbed = append(seen.Disturbed, probe.ReachedLimits(limits, m.Control.Limits())...)
		m.judgeSuspension(offset, &seen)
		m.judgeThrottle(throttle, &seen)
		m.judgePowerLimits(&seen)
		if m.Probes.Temperature != setting.Off {
			seen.Machine.Temperatures.After = readings(probe.ReadTemperatures(ctx, m.Control.Host))
		}
		m.drainLog(ctx, log, &seen)
		m.reread(ctx, applied, &seen)
		return seen
	}, nil
}

// ownTime is the processor time of krund and of all processes that it has waited for.
func ownTime() time.Duration {
	var total int64
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var used unix.Rusage
		_ = unix.Getrusage(who, &used) // cannot fail with these arguments
		total += used.Utime.Nano() + used.Stime.Nano()
	}
	return time.Duration(total)
}

// readThrottle reads the counters before a run. A missing counter is an error if the configuration
// requires them.
func (m *LabMachine) readThrottle() (probe.Throttle, error) {
	if m.Probes.Throttle == setting.Off {
		return probe.Throttle{}, nil
	}
	t := probe.ReadThrottle(m.Control.Root)
	if len(t.Remarks) > 0 && m.Probes.Throttle == setting.Require {
		return t, fmt.Errorf("controls.throttle = \"require\": %s; set it to \"apply\" to measure without",
			strings.Join(t.Remarks, "; "))
	}
	return t, nil
}

// judgeThrottle reads the counters after a run and reports whether the processor was throttled or
// the hardware had errors, or that this is unknown because counters are missing.
func (m *LabMachine) judgeThrottle(before probe.Throttle, seen *Observation) {
	if m.Probes.Throttle == setting.Off {
		return
	}
	after := probe.ReadThrottle(m.Control.Root)
	seen.Machine.Throttle.After = counts(after)
	to, unknown := &seen.Refused, &seen.Remarks // a refused run is repeated
	switch m.Probes.Throttle {
	case setting.Warn:
		to = &seen.Disturbed
	case setting.Require:
		unknown = &seen.Refused
	}
	for _, change := range verdict.Changes(seen.Machine.Throttle) {
		if change.Kind == verdict.CorrectedError && m.Probes.Throttle != setting.Require {
			seen.Disturbed = append(seen.Disturbed, change.String()) // a weak module must not end a slot
			continue
		}
		*to = append(*to, change.String())
	}
	if gone := before.Missing(after); len(gone) > 0 {
		*unknown = append(*unknown, fmt.Sprintf("whether the processor was throttled is unknown: %d of %d "+
			"counters could not be read after the run, the first is %s",
			len(gone), len(before.Counts), gone[0]))
	}
}

// judgePowerLimits reads the power limits after a run and reports those that moved.
func (m *LabMachine) judgePowerLimits(seen *Observation) {
	to := &seen.Remarks
	switch m.Probes.PowerLimits {
	case setting.Off:
		return
	case setting.Apply:
		to = &seen.Disturbed
	case setting.Require:
		to = &seen.Refused
	}
	*to = append(*to, probe.MovedLimits(seen.Machine.PowerLimits, probe.ReadPowerLimits(m.Control.Root))...)
}

// watchLog returns nil if the kernel's log is not watched. If it cannot be watched although it is
// required, that is an error.
func (m *LabMachine) watchLog(ctx context.Context) (probe.KernelLog, error) {
	if m.Probes.KernelLog == setting.Off {
		return nil, nil
	}
	log, err := probe.WatchKernelLog(ctx, m.Control.Host)
	if err != nil && m.Probes.KernelLog == setting.Require {
		return nil, fmt.Errorf("watch the kernel's log (controls.kernel_log = \"require\"): %w", err)
	}
	if err != nil {
		m.Log.Debug("the kernel's log cannot be watched", "error", err)
		return nil, nil
	}
	return log, nil
}

// more returns the fingerprint's entries besides those of the machine: krund and the programs
// measured.
func (m *LabMachine) more(ctx context.Context) map[string]string {
	more := maps.Clone(m.Extra)
	if m.Programs != nil {
		if more == nil {
			more = map[string]string{}
		}
		maps.Copy(more, m.Programs.Hashes(ctx))
	}
	return more
}

// mostKernelLines is how many kernel messages a record stores. A benchmark can cause any number of
// them.
const mostKernelLines = 200

func (m *LabMachine) drainLog(ctx context.Context, log probe.KernelLog, seen *Observation) {
	if log == nil {
		return
	}
	report, err := probe.After(ctx, log, m.Clock, append(probe.DefaultAllow(), m.Allow...))
	seen.Machine.KernelLog = results.KernelLog{Lines: []string{}, Lost: report.Lost}
	for _, line := range report.Unexpected[:min(len(report.Unexpected), mostKernelLines)] {
		seen.Machine.KernelLog.Lines = append(seen.Machine.KernelLog.Lines, line.String())
	}
	if more := len(report.Unexpected) - mostKernelLines; more > 0 {
		seen.Remarks = append(seen.Remarks,
			fmt.Sprintf("%d more kernel messages are not in the record", more))
	}
	m.judgeLog(report, errors.Join(err, log.Close()), seen)
}

// judgeLog judges a run by the kernel's log. Unexpected messages count only if an empty log is
// required; they are in the record in any case. It also reports that the log is incomplete.
func (m *LabMachine) judgeLog(report probe.KernelReport, unread error, seen *Observation) {
	to := &seen.Remarks
	if m.Probes.KernelLog == setting.Require {
		to = &seen.Refused
		if n := len(report.Unexpected); n > 0 {
			*to = append(*to, fmt.Sprintf("%d unexpected kernel messages, the last: %s", n,
				report.Unexpected[n-1].Text))
		}
	}
	if unread != nil {
		*to = append(*to, "kernel messages may be missing: "+unread.Error())
	}
	switch {
	case report.Lost > 0:
		*to = append(*to, fmt.Sprintf("%d kernel messages were lost: overwritten before they could be read",
			report.Lost))
	case report.LostSome:
		*to = append(*to, "kernel messages were lost: overwritten before they could be read")
	}
}

// readings returns a list that is never nil: nil means not taken.
func readings(now probe.Temperatures) []results.Temperature {
	return append([]results.Temperature{}, now.Readings...)
}

// counts returns nil for a machine without throttle counters.
func counts(t probe.Throttle) []results.Count {
	if len(t.Counts) == 0 {
		return nil
	}
	list := make([]results.Count, 0, len(t.Counts))
	for _, name := range slices.Sorted(maps.Keys(t.Counts)) {
		list = append(list, results.Count{Name: name, Count: t.Counts[name]})
	}
	return list
}

// ClockOffset bounds how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: the time that the machine
// was suspended since it booted (clock_gettime(2)). It is an interval because the two clocks cannot
// be read at the same instant.
type ClockOffset struct{ Least, Most time.Duration }

// suspended returns how long the machine was suspended between two readings, 0 if not at all: the
// offset only grows while the machine sleeps, so intervals that do not overlap prove it.
func suspended(before, after ClockOffset) time.Duration {
	return max(after.Least-before.Most, 0)
}

// readOffset reads the offset; nil if this system has no such clock.
func (m *LabMachine) readOffset() *ClockOffset {
	if m.Offset == nil {
		return nil
	}
	o, err := m.Offset()
	if err != nil {
		m.Log.Debug("the time of suspension is unknown", "error", err)
		return nil
	}
	return &o
}

// judgeSuspension records how long the machine slept during the run. A run with a sleep in it does
// not count: CLOCK_MONOTONIC_RAW stood still meanwhile, and caches and frequencies began anew.
func (m *LabMachine) judgeSuspension(before *ClockOffset, seen *Observation) {
	after := m.readOffset()
	if before == nil || after == nil {
		return
	}
	slept := suspended(*before, *after)
	ns := slept.Nanoseconds()
	seen.Machine.SuspendedNS = &ns
	if slept > 0 {
		seen.Refused = append(seen.Refused, fmt.Sprintf("the machine was suspended for %s during the run",
			slept.Round(time.Millisecond)))
	}
}
