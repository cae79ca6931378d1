package control

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
)

const latencyFile = "/dev/cpu_dma_latency"

// shallowest is the value of latency_us for the latency of the shallowest idle state.
const shallowest = -1

// cstates writes a request to /dev/cpu_dma_latency and holds the device open, since the kernel
// drops the request when the device is closed (docs.kernel.org, power/pm_qos_interface). So the
// request cannot outlive krund.
//
// The default permits the shallowest idle state and no deeper one. A request of 0 permits none: the
// idle loop polls, which keeps the tick (Linux 6.12, drivers/cpuidle/governors/menu.c:290-300),
// heats the package, and takes execution units from the sibling thread of each core.
var cstates = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "cstates", Policy: setting.Off,
		Brief: "a limit on how deeply idle CPUs sleep",
		Why:   "a CPU in a deep idle state takes longer to wake and finds its caches empty",
		Options: []setting.Option{{
			Name: "latency_us", Default: int64(shallowest), Min: shallowest, Max: 1_000_000,
			Doc: "the longest permitted wake-up latency, in microseconds; -1 is that of the shallowest " +
				"idle state (C1); 0 keeps idle CPUs spinning, which heats the processor",
		}},
		What: "the latency of C1 (`cpuidle/state*/latency`), or `latency_us`, written to " +
			"`/dev/cpu_dma_latency`, which stays open",
		Notes: "the kernel drops the limit when krund ends, for whatever reason. 0 is refused while " +
			"sibling threads are online: a spinning thread slows its sibling down, and its timer ticks",
	},
	targets: []target{{kind: KindHold, name: is(latencyFile), values: from(isNumber)}},
	plan: func(_ context.Context, m *Machine, d setting.Demand, r Request) Plan {
		want := int(d.Whole("latency_us"))
		switch {
		case want == shallowest:
			latency, known := m.shallowestIdle()
			switch platform := probe.PlatformOf(m.Host); {
			case !known && !platform.X86 && !platform.Guest:
				return ok("none", "no deeper than C1", "the kernel knows no idle state: an idle CPU only "+
					"waits for an interrupt")
			case !known:
				return cannot(unknown, "no deeper than C1", "the kernel lists no idle states in "+
					"/sys/devices/system/cpu/cpu*/cpuidle", platform.Remedy("cstates"))
			}
			want = latency
		case want == 0 && m.siblings() && !r.siblingsOff(m):
			return cannot("sibling threads online", "at most 0 us to wake",
				"idle CPUs would spin and slow their sibling threads down",
				`set latency_us = -1, or smt = "apply"`)
		}
		return planCStates(m, want)
	},
}

// siblings reports whether a core has two threads online.
func (m *Machine) siblings() bool {
	active, err := m.Root.Read("/sys/devices/system/cpu/smt/active")
	return err == nil && active == "1"
}

// shallowestIdle returns the latency in microseconds that permits every CPU its shallowest idle
// state and none a deeper one that any CPU could use instead. State 0 of x86 processors is the
// polling loop, with a latency of 0 (drivers/cpuidle/poll_state.c).
func (m *Machine) shallowestIdle() (latency int, known bool) {
	cpus, err := m.Online()
	if err != nil {
		return 0, false
	}
	for _, cpu := range cpus {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle", cpu)
		files, err := m.Root.Glob(dir + "/state[0-9]*/latency")
		if err != nil {
			return 0, false
		}
		least := int64(0)
		for _, file := range files {
			if off, err := m.Root.Read(path.Join(path.Dir(file), "disable")); err == nil && off != "0" {
				continue // the governor skips it (drivers/cpuidle/governors/menu.c of Linux 6.12:311-317)
			}
			n, err := m.Root.ReadInt(file)
			if err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
		latency, known = max(latency, int(least)), known || least > 0
	}
	return latency, known
}

// unlimited is the value of the device when no process holds it (PM_QOS_CPU_LATENCY_DEFAULT_VALUE),
// in microseconds.
const unlimited = 2000000000

func planCStates(m *Machine, want int) Plan {
	wanted := fmt.Sprintf("at most %d us to wake", want)
	data, err := m.Root.ReadBytes(latencyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return cannot("unknown", wanted, "the kernel has no "+latencyFile,
			probe.PlatformOf(m.Host).Remedy("cstates"))
	}
	if err != nil {
		return unreadable(wanted, err)
	}
	if len(data) != 4 {
		return cannot("unknown", wanted, fmt.Sprintf("%s has %d bytes instead of 4", latencyFile,
			len(data)), "")
	}
	now := int32(binary.NativeEndian.Uint32(data))
	found := fmt.Sprintf("at most %d us to wake", now)
	if now >= unlimited {
		found = "no limit"
	}
	if now == 0 && want > 0 {
		return cannot(found, wanted, "another program holds "+latencyFile+" at 0: idle CPUs spin, which "+
			"heats the processor", "end that program (tuned with latency-performance, an audio server): "+
			"fuser "+latencyFile+" names it")
	}
	if int(now) <= want {
		return ok(found, wanted)
	}
	return willSet(found, wanted, Step{Kind: KindHold, Target: latencyFile, Old: fmt.Sprint(now),
		New: fmt.Sprint(want)})
}

// holdApplier holds devices open with a 32-bit number written to them.
type holdApplier struct{ m *Machine }

func (a holdApplier) do(_ context.Context, s Step) (string, error) {
	var n int32
	if _, err := fmt.Sscan(s.New, &n); err != nil {
		return "", fmt.Errorf("hold %s: %q is not a number", s.Target, s.New)
	}
	c, err := a.m.Root.Hold(s.Target, binary.NativeEndian.AppendUint32(nil, uint32(n)))
	if err != nil {
		return "", err
	}
	a.m.hold(s.Target, c)
	return s.New, nil
}

// restore closes the device. In a process other than the one that held it there is nothing to do,
// since the kernel has closed it.
func (a holdApplier) restore(_ context.Context, s Step) (Restoration, error) {
	released, err := a.m.release(s.Target)
	switch {
	case err != nil:
		return Failed, fmt.Errorf("close %s: %w", s.Target, err)
	case released:
		return Restored, nil
	}
	return Already, nil
}
