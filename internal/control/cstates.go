package control

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"krund/internal/setting"
)

// CStatesSettings bounds how deep idle CPUs sleep.
type CStatesSettings struct {
	Policy  setting.Policy
	Latency int // the longest that waking up may take, in microseconds; 0 keeps idle CPUs spinning
}

const latencyFile = "/dev/cpu_dma_latency"

// cstates writes the wish to /dev/cpu_dma_latency and holds the device open, since the kernel forgets the wish when it is closed
// (docs.kernel.org, power/pm_qos_interface). So the wish cannot outlive krund.
func cstates(s CStatesSettings) Control {
	return Control{
		Name: "cstates", Policy: s.Policy, targets: []target{{kind: KindHold, name: is(latencyFile),
			values: from(isNumber)}},
		Why: "a CPU that sleeps deeply takes a while to wake and finds its caches empty",
		plan: func(_ context.Context, m *Machine) Plan {
			wanted := fmt.Sprintf("at most %d us to wake", s.Latency)
			data, err := m.Root.ReadBytes(latencyFile)
			if errors.Is(err, fs.ErrNotExist) {
				return cannot("unknown", wanted, "the kernel has no "+latencyFile, "limit C-states in the firmware, or boot with intel_idle.max_cstate or processor.max_cstate")
			}
			if err != nil {
				return unreadable(wanted, err)
			}
			if len(data) != 4 {
				return cannot("unknown", wanted, fmt.Sprintf("%s has %d bytes instead of 4", latencyFile, len(data)), "")
			}
			return planCStates(int32(binary.NativeEndian.Uint32(data)), s.Latency)
		},
	}
}

// unlimited is what the device says when nobody holds it (PM_QOS_CPU_LATENCY_DEFAULT_VALUE), in microseconds.
const unlimited = 2000000000

func planCStates(now int32, want int) Plan {
	wanted := fmt.Sprintf("at most %d us to wake", want)
	found := fmt.Sprintf("at most %d us to wake", now)
	if now >= unlimited {
		found = "no limit"
	}
	if int(now) <= want {
		return ok(found, wanted)
	}
	return willSet(found, wanted, Step{Kind: KindHold, Target: latencyFile, Old: fmt.Sprint(now), New: fmt.Sprint(want)})
}

// holdActor holds devices open with a 32-bit number written to them.
type holdActor struct{ m *Machine }

func (a holdActor) do(_ context.Context, s Step) (string, error) {
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

// undo lets go of the device. In another process than the one that held it, there is nothing to do: the kernel closed it.
func (a holdActor) undo(_ context.Context, s Step) (Outcome, error) {
	released, err := a.m.release(s.Target)
	switch {
	case err != nil:
		return Failed, fmt.Errorf("close %s: %w", s.Target, err)
	case released:
		return Restored, nil
	}
	return Already, nil
}
