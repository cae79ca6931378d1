package control

import (
	"context"
	"errors"
	"io/fs"

	"krund/internal/config/setting"
)

const smtFile = "/sys/devices/system/cpu/smt/control"

// smt takes the sibling threads of each core offline through smt/control (docs.kernel.org,
// ABI/testing/sysfs-devices-system-cpu). It is applied first and restored last, because the
// siblings take their frequency limits with them.
var smt = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "smt", Policy: setting.Apply, // hyper-threading was off in the study's firmware
		Brief: "one hardware thread per core",
		Why:   "two threads of one core share its caches and units: either slows the other",
		What:  "`/sys/devices/system/cpu/smt/control` = `off`",
		Notes: "first, because the siblings take their frequency limits with them. CPUs that were offline " +
			"before are offline again afterwards",
	},
	targets: append(files(isWords, smtFile), files(isNumber, cpuOnlineFiles)...),
	plan:    fixed(planSMT),
}

func planSMT(_ context.Context, m *Machine) Plan {
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
	}
	// Anything but "on" is a number: how many threads per core are allowed, on machines with more
	// than two.
	return willSet(state, "off", append(noteOffline(m),
		Step{Kind: KindFile, Target: smtFile, Old: state, New: "off"})...)
}

// noteOffline returns steps that change nothing and remember the CPUs that somebody has taken
// offline: switching siblings on again brings them all online. They are the first steps, so that
// they are put back after the switch.
func noteOffline(m *Machine) []Step {
	files, err := m.Root.Glob(cpuOnlineFiles)
	if err != nil {
		return nil
	}
	var steps []Step
	for _, file := range files {
		if state, err := m.Root.Read(file); err == nil && state == "0" {
			steps = append(steps, Step{Kind: KindFile, Target: file, Old: "0", New: "0", Optional: true})
		}
	}
	return steps
}

const cpuOnlineFiles = "/sys/devices/system/cpu/cpu[0-9]*/online"
