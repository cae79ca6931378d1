package control

import (
	"strings"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/durable/crashfs"
	"krund/internal/machine/host"
	"krund/rig/must"
)

// TestHostileJournal: a journal with a valid checksum and this boot's number makes krund write
// nothing that the named control would not have written.
func TestHostileJournal(t *testing.T) {
	const aslrFile = "/proc/sys/kernel/randomize_va_space"
	hostile := map[string]struct {
		control string
		step    Step
	}{
		"any file": {"aslr", Step{Kind: KindFile, Target: "/srv/shadow.copy",
			Old: "root::0::::::"}},
		"another control's file": {"ksm", Step{Kind: KindFile, Target: aslrFile, Old: "0"}},
		"no control":             {"", Step{Kind: KindFile, Target: aslrFile, Old: "0"}},
		"unknown control":        {"evil", Step{Kind: KindFile, Target: aslrFile, Old: "0"}},
		"no value of the file":   {"aslr", Step{Kind: KindFile, Target: aslrFile, Old: "|/tmp/evil"}},
		"two lines":              {"aslr", Step{Kind: KindFile, Target: aslrFile, Old: "2\nroot::0"}},
		"the account's control":  {"account", Step{Kind: KindFile, Target: aslrFile, Old: "0"}},
		"another kind":           {"aslr", Step{Kind: KindHold, Target: aslrFile, Old: "0"}},
		"unexpected data":        {"aslr", Step{Kind: KindFile, Target: aslrFile, Old: "0", Data: "x"}},
		"a path that leads out": {"irq_affinity",
			Step{Kind: KindFile, Target: "/proc/irq/1/../../sys/kernel/core_pattern", Old: "0"}},
		"dots in place of a name": {"frequency",
			Step{Kind: KindFile, Target: host.CPUFreqDir + "/policy0/../../evil", Old: "0"}},
		"a policy's file": {"frequency",
			Step{Kind: KindFile, Target: host.CPUFreqDir + "/policy0/scaling_setspeed", Old: "0"}},
		"another register": {"turbo", Step{Kind: KindMSR, Target: "/dev/cpu/0/msr@0xc0000082",
			Old: "0x0", New: "0x1"}},
		"another bit": {"turbo", Step{Kind: KindMSR, Target: "/dev/cpu/0/msr@0x1a0", Old: "0x1",
			New: "0x0"}},
		"more than one bit": {"turbo", Step{Kind: KindMSR, Target: "/dev/cpu/0/msr@0x1a0", Old: "0x0",
			New: "0x4000000001"}},
		"another device": {"turbo", Step{Kind: KindMSR, Target: "/dev/mem@0x1a0", Old: "0x0",
			New: "0x4000000000"}},
		"a dangerous unit": {"services",
			Step{Kind: KindUnit, Target: "krund@evil.service", Old: "active"}},
		"an option for systemctl": {"services",
			Step{Kind: KindUnit, Target: "--root=/srv/evil", Old: "active"}},
		"a unit by its path": {"services", Step{Kind: KindUnit, Target: "/srv/evil.service",
			Old: "active"}},
		"a unit's other state": {"services", Step{Kind: KindUnit, Target: "cron.service", Old: "masked"}},
		"a relative swap area": {"swap", Step{Kind: KindSwap, Target: "srv/swap", Old: "1"}},
		"a priority":           {"swap", Step{Kind: KindSwap, Target: "/srv/swap", Old: "high"}},
		"an interface's path":  {"network", Step{Kind: KindLink, Target: "../eth1", Old: "up"}},
		"an interface down":    {"network", Step{Kind: KindLink, Target: "eth0", Old: "down"}},
		"a group to remove": {"shield", Step{Kind: KindGroup, Target: groupRoot + "/system.slice",
			Old: "absent"}},
		"a controller": {"shield", Step{Kind: KindGrant, Target: shieldDir, Old: "-memory",
			New: "+memory"}},
		"an empty controller": {"shield", Step{Kind: KindGrant, Target: shieldDir, Old: "-cpuset"}},
		"any slice":           {"shield", Step{Kind: KindSlice, Target: "evil.slice", Old: "0"}},
		"an option in CPUs":   {"shield", Step{Kind: KindSlice, Target: "user.slice", Old: "0 --root=/srv"}},
		"a variable":          {"malloc", Step{Kind: KindSysctl, Target: "kern.allowkmem", Old: "1"}},
		"any text": {"", Step{Kind: "", Target: strings.Repeat("x", 1<<20),
			Old: strings.Repeat("y", 1<<20)}},
	}
	m, k := fakeMachine(t, "intel-pstate-active")
	before := state(t, m, k)
	for name, h := range hostile {
		fsys := crashfs.New("/x")
		journal := must.Get(encodeJournal([]Entry{{N: 1, Boot: m.Boot, Control: h.control, Step: h.step}}))(t)
		fsys.Put(journalPath, journal)
		report, err := restoreLater(t.Context(), m, fsys)
		must.Be(t, err != nil && len(report) == 1 && report[0].Outcome == Failed &&
			strings.Contains(err.Error(), "nothing was written"), name, report, err)
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	sameTree(t, state(t, m, k), before)
}

// TestPlansKeepToTheirTargets: what a plan contains can be restored after a crash, on every
// captured machine.
func TestPlansKeepToTheirTargets(t *testing.T) {
	for _, name := range machines.Names() {
		m, _ := fakeMachine(t, name)
		steps := 0
		for _, c := range Controls(everything()) {
			for _, s := range c.plan(t.Context(), m).Steps {
				if steps++; checkOwned(c.Name, s) != nil {
					t.Errorf("%s: %s: no target covers %+v", name, c.Name, s)
				}
			}
		}
		must.Be(t, steps != 0, name, "no plan changes anything")
	}
}
