package probe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// temperature declares the probe of this file.
var temperature = setting.Descriptor{
	Name: "temperature", Policy: setting.Require,
	Brief: "temperatures back at their base before each process execution",
	Why:   "a hot processor throttles itself, so results would depend on the room temperature",
	What:  "every hwmon sensor; thermal zones where there is none; `hw.sensors` on OpenBSD",
	Notes: "a sensor is called by chip, place and label: `coretemp@platform/coretemp.0/Core_0`. The " +
		"numbers of hwmon directories change from boot to boot and are not used. A broken sensor costs a " +
		"remark, not the others",
}

// celsius prints thousandths of a degree.
func celsius(milli int) string { return fmt.Sprintf("%.1f C", float64(milli)/1000) }

// Temperatures are the readings of all working sensors, sorted by sensor, and remarks about the
// others.
type Temperatures struct {
	Readings []results.Temperature `json:"readings"`
	Remarks  []string              `json:"remarks,omitempty"`

	namesakes map[string]int // number of sensors of a name seen so far, including those that do not work
	numbers   []int          // index of each reading among the sensors of its name, from 1
}

// Readings outside these bounds come from unconnected inputs (all bits set, or none), in
// thousandths of a degree Celsius. No processor operates there.
const (
	leastMilliC = -40000
	mostMilliC  = 125000
)

const hwmonDir = "/sys/class/hwmon"

// hwmonTemperatures reads all sensors of Linux (docs.kernel.org, hwmon/sysfs-interface) or, if
// there are none, the thermal zones.
//
// The numbers of hwmonN depend on the order in which drivers are loaded, so a sensor is named by
// its chip, the device's location in the machine, and its label:
// "coretemp@platform/coretemp.0/Core_0".
func hwmonTemperatures(root sysroot.Root) Temperatures {
	var t Temperatures
	for _, entry := range root.List(hwmonDir) {
		if strings.HasPrefix(entry, "hwmon") {
			t.chip(root, hwmonDir+"/"+entry)
		}
	}
	if len(t.Readings) == 0 {
		t.zones(root)
	}
	t.finish()
	return t
}

// chip reads the sensors of one hwmon directory.
func (t *Temperatures) chip(root sysroot.Root, dir string) {
	inputs, err := root.Glob(dir + "/temp[0-9]*_input")
	if err != nil || len(inputs) == 0 {
		return
	}
	name, err := root.Read(dir + "/name")
	if err != nil || name == "" {
		name = "unnamed"
	}
	chip := name + "@" + devicePlace(root, dir)
	for _, input := range inputs {
		base := strings.TrimSuffix(input, "_input")
		label, err := root.Read(base + "_label")
		if err != nil || label == "" {
			label = strings.TrimPrefix(base, dir+"/")
		}
		sensor := word(chip + "/" + label)
		number := t.meet(sensor)
		if fault, err := root.Read(base + "_fault"); err == nil && fault == "1" {
			t.remark(sensor, "reports a fault")
			continue
		}
		if enabled, err := root.Read(base + "_enable"); err == nil && enabled == "0" {
			t.remark(sensor, "is disabled")
			continue
		}
		t.take(root, input, sensor, number)
	}
}

// meet counts a sensor among those of the same name and returns its index.
func (t *Temperatures) meet(sensor string) int {
	if t.namesakes == nil {
		t.namesakes = map[string]int{}
	}
	t.namesakes[sensor]++
	return t.namesakes[sensor]
}

// add adds a reading.
func (t *Temperatures) add(sensor string, milli, number int) {
	t.Readings = append(t.Readings, results.Temperature{Sensor: sensor, MilliC: milli})
	t.numbers = append(t.numbers, number)
}

// take reads one input.
func (t *Temperatures) take(root sysroot.Root, file, sensor string, number int) {
	text, err := root.Read(file)
	if err != nil {
		t.remark(sensor, err.Error())
		return
	}
	milli, err := parseMilliC(text)
	if err != nil {
		t.remark(sensor, err.Error())
		return
	}
	t.add(sensor, milli, number)
}

func (t *Temperatures) remark(sensor, what string) {
	t.Remarks = append(t.Remarks, fmt.Sprintf("sensor %s left out: %s", sensor, what))
}

// parseMilliC parses a plausible temperature in thousandths of a degree.
func parseMilliC(text string) (int, error) {
	milli, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf("%q is not a temperature", display.Head(text, excerpt))
	}
	if milli < leastMilliC || milli > mostMilliC {
		return 0, fmt.Errorf("%s is impossible", celsius(milli))
	}
	return milli, nil
}

// zones reads the thermal zones (docs.kernel.org, driver-api/thermal/sysfs-api).
func (t *Temperatures) zones(root sysroot.Root) {
	dirs, err := root.Glob("/sys/class/thermal/thermal_zone[0-9]*")
	if err != nil {
		return
	}
	for _, dir := range dirs {
		kind, err := root.Read(dir + "/type")
		if err != nil || kind == "" {
			kind = "unnamed"
		}
		sensor := word("zone@" + kind)
		t.take(root, dir+"/temp", sensor, t.meet(sensor))
	}
}

// finish sorts the readings and numbers those that share a name, in the order in which they were
// found. A sensor that cannot be read keeps its number, because the others must not be mistaken for
// it.
func (t *Temperatures) finish() {
	shared := map[string]bool{}
	for i, r := range t.Readings {
		if t.namesakes[r.Sensor] > 1 {
			shared[r.Sensor] = true
			t.Readings[i].Sensor = fmt.Sprintf("%s#%d", r.Sensor, t.numbers[i])
		}
	}
	for _, sensor := range sortedKeys(shared) {
		t.Remarks = append(t.Remarks, fmt.Sprintf("%d sensors are called %s: distinguished by the order in "+
			"which the kernel lists them", t.namesakes[sensor], sensor))
	}
	slices.SortFunc(t.Readings,
		func(a, b results.Temperature) int { return sysroot.Compare(a.Sensor, b.Sensor) })
	t.namesakes, t.numbers = nil, nil
}

// devicePlace returns the location of the device of a hwmon directory in the machine: its path
// below /sys/devices, without the parts with unstable numbers.
func devicePlace(root sysroot.Root, dir string) string {
	place, err := root.Resolve(dir + "/device")
	if err != nil {
		if place, err = root.Resolve(dir); err != nil {
			return "unknown"
		}
	}
	return stablePlace(place)
}

// stablePlace removes the parts of a device path that depend on the order in which drivers are
// loaded: the hwmon directory itself at the end, and the numbers of buses and controllers (nvme0,
// host3, i2c-5 and the 5-0048 on it), whose location on the PCI bus is part of the path.
func stablePlace(place string) string {
	place = strings.TrimPrefix(place, "/sys/devices/")
	parts := strings.Split(strings.Trim(place, "/"), "/")
	if n := len(parts); n > 1 && strings.HasPrefix(parts[n-1], "hwmon") {
		parts = parts[:n-1]
	}
	if n := len(parts); n > 1 && parts[n-1] == "hwmon" {
		parts = parts[:n-1]
	}
	for i, p := range parts {
		parts[i] = stablePart(p)
	}
	return strings.Join(parts, "/")
}

// stablePart replaces an unstable number of a path component by "*". A port of a disk controller
// (ata3) keeps its number.
func stablePart(part string) string {
	for _, kind := range []string{"nvme", "host", "target", "i2c-"} {
		rest, found := strings.CutPrefix(part, kind)
		if found && rest != "" && strings.Trim(rest, "0123456789:") == "" {
			return kind + "*"
		}
	}
	bus, address, found := strings.Cut(part, "-")
	if found && len(address) == 4 && isNumber(bus) && strings.Trim(address, "0123456789abcdef") == "" {
		return "*-" + address // a device on an I2C bus
	}
	host, unit, found := strings.Cut(part, ":")
	if found && isNumber(host) && strings.Count(unit, ":") == 2 && strings.Trim(unit, "0123456789:") == "" {
		return "*:" + unit // a SCSI device
	}
	return part
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// word converts a name to one word: white space and control characters become "_", so that it can
// be part of a line of key=value pairs.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '=' || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, name)
}

// excerpt is how many bytes of a value a message quotes.
const excerpt = 80

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
