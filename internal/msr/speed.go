package msr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// A Speed is how fast a core's counters advance while the core is busy, per second. APERF's is the
// core's frequency. MPERF's is a constant of the processor: it counts at the maximum frequency
// without turbo (Linux 6.12, arch/x86/kernel/cpu/aperfmperf.c:404, @base_freq;
// drivers/cpufreq/intel_pstate.c:949-953 and 2092, MSR_PLATFORM_INFO[15:8]), which need not be the
// base frequency that the firmware guarantees.
//
// It is measured and not read from that register, because the register gives a multiple of a clock
// that differs between processors, needs the msr module, and does not exist on AMD.
type Speed struct {
	Core         int
	APERF, MPERF float64
}

// MHz returns the core's frequency.
func (s Speed) MHz() float64 { return s.APERF / 1e6 }

// A core is kept busy for speedSettle, in which it reaches its frequency, and then for speedWindow.
// Reading a counter takes about a microsecond, a ten thousandth of the window.
const (
	speedSettle = 10 * time.Millisecond
	speedWindow = 10 * time.Millisecond
)

// MeasureSpeeds keeps one core after the other busy for some milliseconds and measures its speed.
// The calling thread must be allowed to run on all of them. It needs the perf events aperf and
// mperf or readable msr devices, and changes nothing.
func MeasureSpeeds(ctx context.Context, root sysroot.Root, clock sysroot.Clock, cores []int) ([]Speed,
	error) {
	return speedometer{clock: clock, bind: host.BindThread, work: spin,
		open: func(core int) (coreCounter, error) { return openCore(root, openEvent, core) }}.all(ctx, cores)
}

// coreCounter reads the counters of a core.
type coreCounter interface {
	read() (aperf, mperf uint64, err error)
	Close() error
}

// speedometer is what MeasureSpeeds needs of the system; tests replace it.
type speedometer struct {
	clock sysroot.Clock
	bind  func(core int) (unbind func(), err error)
	open  func(core int) (coreCounter, error)
	work  func() // a few microseconds
}

func (s speedometer) all(ctx context.Context, cores []int) ([]Speed, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	list := make([]Speed, 0, len(cores))
	for _, core := range cores {
		speed, err := s.one(ctx, core)
		if err != nil {
			return nil, fmt.Errorf("measure the frequency of core %d: %w", core, err)
		}
		list = append(list, speed)
	}
	return list, nil
}

func (s speedometer) one(ctx context.Context, core int) (speed Speed, err error) {
	counter, err := s.open(core)
	if err != nil {
		return Speed{}, err
	}
	defer func() { err = errors.Join(err, counter.Close()) }()
	unbind, err := s.bind(core)
	if err != nil {
		return Speed{}, err
	}
	defer unbind()
	s.spin(ctx, speedSettle)
	start := s.clock.Now()
	aperf, mperf, err := counter.read()
	if err != nil {
		return Speed{}, err
	}
	s.spin(ctx, speedWindow)
	elapsed := s.clock.Now().Sub(start).Seconds()
	aperf2, mperf2, err := counter.read()
	switch {
	case err != nil:
		return Speed{}, err
	case ctx.Err() != nil:
		return Speed{}, ctx.Err()
	case aperf2 <= aperf || mperf2 <= mperf || elapsed <= 0:
		return Speed{}, errors.New("APERF or MPERF stands still")
	}
	return Speed{Core: core, APERF: float64(aperf2-aperf) / elapsed, MPERF: float64(mperf2-mperf) / elapsed},
		nil
}

// spin keeps the core busy for d.
func (s speedometer) spin(ctx context.Context, d time.Duration) {
	for end := s.clock.Now().Add(d); ctx.Err() == nil && s.clock.Now().Before(end); {
		s.work()
	}
}

// spin is a few microseconds of work.
//
//go:noinline
func spin() {
	x := 1.0
	for range 1000 {
		x = x*1.0000001 + 1e-9
	}
	runtime.KeepAlive(x)
}

// openCore opens the counters of a core: the perf events or, without them, the registers.
func openCore(root sysroot.Root, open opener, core int) (coreCounter, error) {
	var plan groupPlan
	for _, name := range []string{"aperf", "mperf"} {
		e, err := msrEvent(root, name)
		if err != nil {
			return openCoreRegisters(root, core, err)
		}
		plan.essential = append(plan.essential, e)
	}
	plan.core = core
	g, err := openGroup(open, plan, false)
	if err != nil {
		_ = g.close() // the first error says more
		return openCoreRegisters(root, core, err)
	}
	return &coreGroup{g}, nil
}

// coreGroup is a perf group of aperf and mperf.
type coreGroup struct{ group opened }

func (c *coreGroup) Close() error { return c.group.close() }

func (c *coreGroup) read() (aperf, mperf uint64, err error) {
	const header = 3 // number of values, time enabled, time running
	var raw [8 * (header + 2)]byte
	n, err := c.group.files[0].Read(raw[:])
	if err == nil && n != len(raw) {
		err = errNoPlace
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(raw[8*i:]) }
	return word(header), word(header + 1), err
}

// coreRegisters are the registers of a core.
type coreRegisters struct {
	root sysroot.Root
	core int
}

func openCoreRegisters(root sysroot.Root, core int, instead error) (coreCounter, error) {
	c := coreRegisters{root, core}
	if _, _, err := c.read(); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errors.New("no msr device")
		}
		return nil, fmt.Errorf("%w; %w", instead, err)
	}
	return c, nil
}

func (coreRegisters) Close() error { return nil }

func (c coreRegisters) read() (aperf, mperf uint64, err error) {
	if aperf, err = readRegister(c.root, c.core, regAPERF); err == nil {
		mperf, err = readRegister(c.root, c.core, regMPERF)
	}
	return aperf, mperf, err
}
