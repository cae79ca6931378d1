package temperature

import (
	"slices"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

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
