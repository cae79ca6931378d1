package temperature

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// TestHotAndCold uses three starts: one at 40 degrees, which becomes the base; one that is hot at
// first; one that is cold at first.
func TestHotAndCold(t *testing.T) {
	m := hardware(t, `timeout = "1h"`)
	m.PowerOn()
	m.WaitReboot()

	m.SetTemperature(0, 60)
	atTheGate(m)
	m.Sh("sleep 12") // longer than the polling interval
	got, _ := m.Try("pgrep -au krun")
	must.Equal(t, got, "", "something runs while the machine is too hot")
	fell := guestNow(t, m)
	m.SetTemperature(0, 42.5) // within 3 degrees
	m.WaitReboot()

	m.SetTemperature(0, 40)
	m.SetTemperature(1, 30)
	atTheGate(m)
	m.Await("krund has heated for some seconds", func() (string, bool) {
		n := ticks(t, m)
		return fmt.Sprintf("%d hundredths of a second", n), n > 300
	})
	rose := guestNow(t, m)
	m.SetTemperature(1, 37.5)
	ended := m.RunToEnd(rig.UnitOf(name), 0)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.Shutdown()
	e := m.Experiment(directory)
	e.Check(t)
	must.Need(t, len(e.Records) == 2 && e.Count(schedule.Completed) == 2, len(e.Records), "records",
		e.Count(schedule.Completed), "completed, want 2")
	for i, want := range []string{"42.5 40.0", "40.0 37.5"} {
		r := e.Records[i].Machine.Temperatures
		must.Be(t, celsius(r.Base) == "40.0 40.0" && celsius(r.Before) == want && celsius(r.After) == want,
			"execution", i+1, "base", celsius(r.Base), "before", celsius(r.Before), "after",
			celsius(r.After), "want 40.0 40.0 of the first start, and", want)
	}
	began := e.Records[0].Started
	must.Be(t, !began.Before(fell), "the first execution began at", began, "the temperature fell at", fell)
	began = e.Records[1].Started
	must.Be(t, !began.Before(rose), "the second execution began at", began, "the temperature rose at", rose)
}

// ticks returns krund's processor time in hundredths of a second.
func ticks(t *testing.T, m *rig.Machine) int {
	t.Helper()
	n := must.Get(strconv.Atoi(m.Sh(`awk '{ print $14 + $15 }' /proc/$(systemctl show --value -p MainPID ` +
		rig.UnitOf(name) + `)/stat`)))(t)
	return n
}

const frequencies = "grep -H . /sys/devices/system/cpu/cpufreq/policy*/scaling_governor " +
	"/sys/devices/system/cpu/cpufreq/policy*/scaling_m*_freq /proc/sys/kernel/perf_event_max_sample_rate"

// TestItStaysHot uses three starts: the last one must be an ordinary one.
func TestItStaysHot(t *testing.T) {
	rig.Long(t, "TestHotAndCold is the short form")
	m := hardware(t, `timeout = "25s"`)
	m.PowerOn()
	m.WaitReboot()
	m.SetTemperature(0, 60)
	atTheGate(m)
	waiting := m.Sh(frequencies)
	if ended := m.RunToEnd(rig.UnitOf(name), 0); ended.Result != "exit-code" || ended.Status != 1 {
		t.Errorf("krund ended with %+v, want exit status 1", ended)
	}
	stopped := m.Sh(frequencies)
	must.Be(t, waiting != stopped,
		"while krund waited and after it the settings are the same, so nothing was restored", stopped)
	if told := m.Sh("cat /srv/krund/told"); strings.Count(told, "not fit to measure") != 1 ||
		!strings.Contains(told, "60.0 C, base 40.0 C") || !strings.Contains(told, "[temperature]") {
		t.Errorf("a notification was sent:\n%s", told)
	}
	state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name))
	must.Be(t, state != "enabled", "the unit is still enabled")
	m.Reboot()
	m.WaitRunning()
	must.Equal(t, stopped, m.Sh(frequencies), "krund has left", "want as in an ordinary boot")
	got, status := m.Try("pgrep -a krund")
	must.Be(t, status != 0, "in an ordinary boot there is", got)
	m.Shutdown()
	e := m.Experiment(directory)
	must.Be(t, len(e.Records) == 0 && e.Count(schedule.Outstanding) == 2 && e.Slots[0].Attempts == 0,
		len(e.Records), "records, slots", e.Slots, "want none, and a slot without a counted attempt")
}
