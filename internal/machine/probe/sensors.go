package probe

import (
	"context"
	"math"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/machine/host"
)

// parseSensors parses the temperatures of OpenBSD's `sysctl hw.sensors` (sysctl(8), print_sensor):
//
//	hw.sensors.cpu0.temp0=45.00 degC
//	hw.sensors.acpitz0.temp0=27.80 degC (zone temperature), OK
//	hw.sensors.it0.temp2=unknown
//
// OpenBSD numbers devices in bus order, which is the same at every boot.
func parseSensors(text string) Temperatures {
	var t Temperatures
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		device, isSensor := strings.CutPrefix(name, "hw.sensors.")
		i := strings.LastIndex(device, ".")
		if !found || !isSensor || i < 0 || !strings.HasPrefix(device[i+1:], "temp") {
			continue
		}
		number, rest, _ := strings.Cut(value, " ")
		label := ""
		if _, after, ok := strings.Cut(rest, "("); ok {
			label, _, _ = strings.Cut(after, ")")
		}
		sensor := strings.Replace(device, ".", "/", 1)
		if label != "" {
			sensor += "(" + label + ")"
		}
		sensor = word(sensor)
		namesake := t.meet(sensor)
		degrees, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil || !strings.HasPrefix(rest, "degC"):
			t.remark(sensor, "says "+display.Head(value, excerpt))
		case math.IsNaN(degrees) || degrees*1000 < leastMilliC || degrees*1000 > mostMilliC:
			t.remark(sensor, display.Head(value, excerpt)+" is impossible")
		default:
			t.add(sensor, int(math.Round(degrees*1000)), namesake)
		}
	}
	t.finish()
	return t
}

// sysctlTemperatures asks sysctl(8).
func sysctlTemperatures(ctx context.Context, c host.Commands) Temperatures {
	if c == nil {
		return Temperatures{Remarks: []string{"no sensors: this system has no sysctl"}}
	}
	out, err := c.Output(ctx, "sysctl", "hw.sensors")
	t := parseSensors(string(out))
	if err != nil && len(t.Readings) == 0 {
		t.Remarks = append(t.Remarks, "no sensors: "+err.Error())
	}
	return t
}
