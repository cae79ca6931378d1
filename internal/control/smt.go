package control

import (
	"context"
	"errors"
	"io/fs"
)

// SMTSettings asks for one hardware thread per core.
type SMTSettings struct{ Policy Policy }

const smtFile = "/sys/devices/system/cpu/smt/control"

// smt takes the sibling threads of each core offline through smt/control (docs.kernel.org, ABI/testing/sysfs-devices-system-cpu). It is
// the first control to be applied and the last to be taken back, since the siblings take their frequency limits with them.
func smt(s SMTSettings) Control {
	return Control{
		Name: "smt", Policy: s.Policy,
		Why:  "two threads of one core share its caches and units: either slows the other",
		plan: func(_ context.Context, m *Machine) Plan { return planSMT(m) },
	}
}

func planSMT(m *Machine) Plan {
	state, err := m.Root.Read(smtFile)
	if errors.Is(err, fs.ErrNotExist) {
		p := ok("absent", "off")
		p.Detail = "the kernel knows no sibling threads"
		return p
	}
	if err != nil {
		return unreadable("off", err)
	}
	switch state {
	case "off", "forceoff", "notsupported", "notimplemented":
		return ok(state, "off")
	case "on":
		if active, err := m.Root.Read("/sys/devices/system/cpu/smt/active"); err == nil && active == "0" {
			p := ok("on", "off")
			p.Detail = "no core has two threads online"
			return p
		}
		return willSet("on", "off", Step{Kind: KindFile, Target: smtFile, Old: "on", New: "off"})
	}
	// A number is how many threads per core are allowed, on machines with more than two.
	return willSet(state, "off", Step{Kind: KindFile, Target: smtFile, Old: state, New: "off"})
}
