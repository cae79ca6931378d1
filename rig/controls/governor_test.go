package controls

import (
	"fmt"
	"testing"

	"krund/rig"
)

const fullSpeed = `
[controls]
frequency = "require"
`

// governors is the state that the test sets first. powersave keeps CPU 0 at its lowest frequency,
// however busy it is; ondemand lets CPU 1 slow down when it is mostly idle.
const governors = `
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor powersave
/sys/devices/system/cpu/cpufreq/policy1/scaling_governor ondemand
/sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq 800000
/sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq 3000000
`

// TestGovernor uses one start. The actual P-state of the processor is observed from outside: in the
// register that the frequency driver writes.
func TestGovernor(t *testing.T) {
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	const policies = "/sys/devices/system/cpu/cpufreq/policy"
	m.Sh("echo powersave >" + policies + "0/scaling_governor; echo ondemand >" + policies +
		"1/scaling_governor")
	t.Run("an idle processor slows down before", func(t *testing.T) { slowsDown(m.For(t)) })
	t.Run("performance during the run, both after it", func(t *testing.T) {
		m := m.For(t)
		krund := heldAtFullSpeed(t, m)
		m.LetGo()
		ended(t, m, krund)
		as(t, m, governors)
		slowsDown(m)
	})
	t.Run("both after krund was killed in the middle of a run, and krunctl repair --machine",
		func(t *testing.T) {
			m := m.For(t)
			krund := heldAtFullSpeed(t, m)
			m.KillKrund(krund)
			t.Log(m.Sh("krunctl repair --machine " + toml("governor")))
			as(t, m, governors)
			m.LetGo()
			slowsDown(m)
		})
	t.Run("both after krund alone was killed, by its guard", func(t *testing.T) {
		m := m.For(t)
		heldAtFullSpeed(t, m).Kill()
		slowsDown(m)
		as(t, m, governors)
		m.LetGo()
	})
}

// slowsDown waits until the governors have slowed both processors down: CPU 0 to its lowest
// frequency, CPU 1 below its highest. If emulation is slow, an idle processor looks up to 40 %
// busy, and ondemand never chooses the lowest frequency.
func slowsDown(m *rig.Machine) {
	m.Await("the processors slow down", func() (string, bool) {
		a, b := m.PState(0), m.PState(1)
		return fmt.Sprintf("%d and %d MHz", a, b), a == 800 && b < 3000
	})
}

// heldAtFullSpeed starts krund and holds the benchmark in its first iteration: it sleeps, so that
// the previous governors would slow the processors down.
func heldAtFullSpeed(t *testing.T, m *rig.Machine) *rig.Process {
	m.Hold()
	krund := begin(m, "governor", experiment("executions = 1")+fullSpeed)
	m.WaitHeld()
	for range 20 {
		m.Sh("sleep 0.1")
		if a, b := m.PState(0), m.PState(1); a != 3000 || b != 3000 {
			t.Fatalf("during the run the processors are at %d and %d MHz, want 3000", a, b)
		}
	}
	return krund
}
