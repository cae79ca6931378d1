// Package temperature lets krund wait for a machine that is too hot, heat one that is too cold,
// give up on one that stays so, and continue without sensors that vanish.
package temperature

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

const name = "warm"

var directory = rig.ExperimentHome + "/" + name + ".krun"

// experiment returns a configuration with executions of the benchmark "held". top contains lines of
// [experiment], gate lines of [temperature], policy is that of the control. A hook tells the rig
// that the gate comes next, and notifications are written to a file.
func experiment(top, gate, policy string) string {
	return "[experiment]\n" + top + "\n" + rig.Limits("10m", "256MiB") + gate + "\n" + rig.Python(1) +
		fmt.Sprintf(`%s = { parameter = 0 }

[hooks]
before = [["/bin/sh", "-c", "echo RIG-HOOK >/dev/ttyS0"]]

[notify]
command = ["/usr/bin/tee", "-a", "/srv/krund/told"]

[controls]
temperature = %q
isolcpus = "warn"
overcommit = "warn"
tickless = "warn"
`, rig.HeldBenchmark, policy)
}

// hardware is a machine with an experiment of two executions. The first start reads the base
// temperatures; each of the next two has an execution.
func hardware(t *testing.T, gate string) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Held()
	files.Experiment(name, experiment("executions = 2", gate, "require"))
	files.Enable(name)
	return rig.Krund(t, rig.Options{Payload: &files})
}

// atTheGate starts the machine, and returns when krund is about to read the temperatures.
func atTheGate(m *rig.Machine) {
	m.PowerOn()
	m.WaitConsole("^RIG-HOOK$")
	m.WaitUp()
}

// guestNow returns the time of the guest's clock.
func guestNow(t *testing.T, m *rig.Machine) time.Time {
	t.Helper()
	now := must.Get(
		time.Parse(time.RFC3339Nano, strings.Replace(m.Sh("date -u --iso-8601=ns"), ",", ".", 1)))(t)
	return now
}

// celsius formats readings in the order of the record.
func celsius(list []results.Temperature) string {
	var values []string
	for _, r := range list {
		values = append(values, fmt.Sprintf("%.1f", float64(r.MilliC)/1000))
	}
	return strings.Join(values, " ")
}

// sensor creates an lm75 at 25 degrees; hot sets it to 60, and gone removes it. Its registers are
// big-endian.
const (
	driver = "modprobe i2c-dev && modprobe i2c-stub chip_addr=0x48 && modprobe lm75"
	bus    = `bus=$(i2cdetect -l | awk '/SMBus stub/ { sub("i2c-", "", $1); print $1 }'); `
	sensor = bus + "i2cset -y $bus 0x48 3 0x0050 w; i2cset -y $bus 0x48 2 0x004b w; i2cset -y $bus 0x48 0 " +
		"0x0019 w; echo lm75 0x48 >/sys/bus/i2c/devices/i2c-$bus/new_device"
	hot  = bus + "i2cset -f -y $bus 0x48 0 0x003c w" // although the driver uses it
	gone = bus + "echo 0x48 >/sys/bus/i2c/devices/i2c-$bus/delete_device"
)

// TestASensorVanishes uses one start, in which the experiments run without reboots.
func TestASensorVanishes(t *testing.T) {
	rig.Long(t, "TestHotAndCold is the short form")
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	m.Sh(driver)
	const only, none = `sensors = ["lm75*"]`, "none of the temperature sensors that the experiment began " +
		"with can be read"
	for _, c := range []struct {
		name, gate, policy string
		hot                bool // hot at the end of the first execution
		want               string
	}{
		// must be first, because it counts lines of the console
		{"while krund waits for it to cool down", only, "require", true, none},
		{"the only one, which is required", only, "require", false, none},
		{"the only one, which is not required", only, "apply", false, ""},
		{"one of several", "", "require", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := m.For(t)
			m.Sh(sensor)
			krund := hold(m, experiment("executions = 3\nreboot = \"none\"", c.gate, c.policy))
			if c.hot {
				m.Sh(hot)
				m.LetGo()
				m.WaitConsole("^RIG-HOOK$") // hook of the second execution
				m.Sh("sleep 5; " + gone)    // between its first two readings, which are ten seconds apart
			} else {
				m.Sh(gone)
				m.LetGo()
			}
			vanished(t, m, krund, c.want)
		})
	}
}

// hold starts krund and holds the benchmark in the first execution.
func hold(m *rig.Machine, text string) *rig.Process {
	m.Put(rig.ExperimentHome+"/"+name+".toml", 0o644, []byte(text))
	m.Sh("rm -rf " + directory)
	m.Hold()
	krund := m.Start("krund run --verbose " + rig.ExperimentHome + "/" + name + ".toml")
	m.WaitConsole("^RIG-HOOK$")
	m.WaitHeld()
	return krund
}

// vanished checks krund's reaction: want is the error with which it stops, or "" if it continues
// with a remark in the record.
func vanished(t *testing.T, m *rig.Machine, krund *rig.Process, want string) {
	out, status := krund.Wait()
	e := m.ExperimentNow(directory)
	if want != "" {
		must.Be(t, status == 1 && strings.Contains(out, want) && strings.Contains(out, "lm75@") &&
			len(e.Records) == 1, "krund ended with status", status, "after", len(e.Records),
			"records, want 1 and 1, and", want, out)
		return
	}
	must.Need(t, status == 0 && len(e.Records) == 3, "krund ended with status", status, "after",
		len(e.Records), "records, want 0 and 3", out)
	for i, r := range e.Records {
		about := slices.ContainsFunc(r.Reasons, func(s string) bool {
			return strings.Contains(s, "lm75@") &&
				strings.Contains(s, "cannot be read")
		})
		must.Be(t, about == (i > 0), "execution", i+1, r.Reasons, "want a remark about the sensor", i > 0)
		n := len(r.Machine.Temperatures.Before)
		must.Equal(t, (n == 3), (i == 0), "execution", i+1, "has", n, "readings")
	}
}

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
