package control

import (
	"context"
	"errors"
	"io/fs"

	"krund/internal/experiment/config/setting"
)

const smtFile = "/sys/devices/system/cpu/smt/control"

// smt takes the sibling threads of each core offline through smt/control (docs.kernel.org,
// ABI/testing/sysfs-devices-system-cpu). It is applied first and restored last, because siblings
// that go offline lose their frequency limits.
var smt = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "smt", Policy: setting.Apply, // hyper-threading was off in the study's firmware
		Brief: "one hardware thread per core",
		Why:   "sibling threads share a core's caches and execution units and slow each other down",
		What:  "`/sys/devices/system/cpu/smt/control` = `off`",
		Notes: "applied first, because siblings that go offline lose their frequency limits. CPUs that " +
			"were offline before are offline again afterwards",
	},
	targets: append(files(isWords, smtFile), files(isNumber, cpuOnlineFiles)...),
	plan:    fixed(planSMT),
}

func planSMT(_ context.Context, m *Machine) Plan {
	state, err := m.Root.Read(smtFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ok("absent", "off", "the kernel has no control of sibling threads")
	}
	if err != nil {
		return unreadable("off", err)
	}
	switch state {
	case "off", "forceoff", "notsupported", "notimplemented":
		return ok(state, "off")
	case "on":
		if active, err := m.Root.Read("/sys/devices/system/cpu/smt/active"); err == nil && active == "0" {
			return ok("on", "off", "no core has two threads online")
		}
	}
	// Any value except "on" is the number of threads allowed per core, on machines with more than
	// two.
	return willSet(state, "off", append(noteOffline(m),
		Step{Kind: KindFile, Target: smtFile, Old: state, New: "off"})...)
}

// siblingsOff reports whether smt is going to switch sibling threads off.
func (r Request) siblingsOff(m *Machine) bool {
	return r.Of(smt.Name).Policy.Changes() && planSMT(context.Background(), m).Status == setting.StatusWillSet
}

// noteOffline returns steps that change nothing and record the CPUs that were taken offline by
// hand: switching siblings on again brings all CPUs online. They are the first steps, so that they
// are restored after the switch.
func noteOffline(m *Machine) []Step {
	files, err := m.Root.Glob(cpuOnlineFiles)
	if err != nil {
		return nil
	}
	var steps []Step
	for _, file := range files {
		if state, err := m.Root.Read(file); err == nil && state == "0" {
			steps = append(steps, note(file, "0"))
		}
	}
	return steps
}

const cpuOnlineFiles = "/sys/devices/system/cpu/cpu[0-9]*/online"
