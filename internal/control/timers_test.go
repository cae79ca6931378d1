package control

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestTimers: timers stop, and with them the running services that they have started; a service
// that is at work to start, and one that has ended, are left alone.
func TestTimers(t *testing.T) {
	m, _ := fakeMachine(t, "arm64")
	units := m.Units.(*fakeUnits)
	units.units = []Unit{
		{Name: "apt-daily.timer", Active: true}, {Name: "backup.timer", Active: true},
		{Name: `dev-sda\x2d1.timer`, Active: true}, {Name: "idle.timer"},
		{Name: "run-r1.timer", Active: true, Transient: true},
		{Name: "krund-x.timer", Active: true},
		{Name: "apt-daily.service", Active: true, TriggeredBy: []string{"apt-daily.timer"}}, // activating
		{Name: "backup.service", Active: true, Running: true, TriggeredBy: []string{"backup.timer"}},
		{Name: "exited.service", Active: true, TriggeredBy: []string{"idle.timer"}},
		{Name: "ssh.service", Active: true, Running: true, TriggeredBy: []string{"ssh.socket"}},
		{Name: "ssh.socket", Active: true},
	}
	before := units.active()
	f, restore, err := required(timers).Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet &&
		strings.Contains(f.Detail, "run-r1.timer is left running"), f, err)
	want := []string{"stop backup.service", "stop apt-daily.timer", "stop backup.timer",
		`stop dev-sda\x2d1.timer`}
	must.EqualList(t, units.log, want, "did")
	if err := restore(t.Context()); err != nil || !slices.Equal(units.active(), before) {
		t.Errorf("%v, active %q, want %q", err, units.active(), before)
	}
}
