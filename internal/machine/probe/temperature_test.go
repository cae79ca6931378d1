package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// shown formats readings as "sensor=milli".
func shown(t Temperatures) []string {
	var list []string
	for _, r := range t.Readings {
		list = append(list, r.Sensor+" "+celsius(r.MilliC))
	}
	return list
}

func TestTemperaturesOfEachMachine(t *testing.T) {
	tests := map[string][]string{
		"intel-pstate-active": {
			"acpitz@virtual/thermal/thermal_zone0/temp1 27.8 C",
			"coretemp@platform/coretemp.0/Core_0 44.0 C", "coretemp@platform/coretemp.0/Package_id_0 45.0 C",
			"nvme@pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme*/Composite 38.9 C",
		},
		"amd-pstate-epp": {"k10temp@pci0000:00/0000:00:18.3/Tccd1 46.0 C",
			"k10temp@pci0000:00/0000:00:18.3/Tctl 48.2 C"},
		// Two chips of the same name are distinguished by their location.
		"amd-acpi-cpufreq": {"k10temp@pci0000:00/0000:00:18.3/Tdie 38.6 C",
			"k10temp@pci0000:00/0000:00:19.3/Tdie 39.0 C"},
		"arm64":     {"zone@soc-thermal 41.5 C"},
		"kvm-guest": nil,
	}
	for name, want := range tests {
		m, _ := machine(t, name)
		got := hwmonTemperatures(m.Root)
		must.Be(t, slices.Equal(shown(got), want) && len(got.Remarks) == 0, name, shown(got), "remarks",
			got.Remarks, "want", want)
	}
}

// TestSensorNamesOutliveRenumbering renumbers the chips, as a different driver load order does.
func TestSensorNamesOutliveRenumbering(t *testing.T) {
	m, dir := machine(t, "intel-pstate-active")
	before := shown(hwmonTemperatures(m.Root))
	class := filepath.Join(dir, hwmonDir)
	for from, to := range map[string]string{"hwmon0": "hwmon12", "hwmon10": "hwmon0", "hwmon1": "hwmon3"} {
		target := must.Get(os.Readlink(filepath.Join(class, from)))(t)
		moved := strings.Replace(target, "/hwmon/"+from, "/hwmon/new-"+to, 1)
		must.Do(t, os.Rename(filepath.Join(class, target), filepath.Join(class, moved)))
		must.Do(t, os.Remove(filepath.Join(class, from)))
		must.Do(t, os.Symlink(moved, filepath.Join(class, "hwmon-"+to)))
	}
	must.EqualList(t, shown(hwmonTemperatures(m.Root)), before)
}

// TestBrokenSensors: a bad sensor causes a remark and does not affect the others.
func TestBrokenSensors(t *testing.T) {
	m, dir := machine(t, "intel-pstate-active")
	const chip = "sys/devices/platform/coretemp.0/hwmon/hwmon10/"
	put(t, dir, chip+"temp3_input", "rubbish\n")
	put(t, dir, chip+"temp4_input", "255000\n") // unconnected
	put(t, dir, chip+"temp5_input", "30000\n")
	put(t, dir, chip+"temp5_fault", "1\n")
	put(t, dir, chip+"temp6_input", "30000\n")
	put(t, dir, chip+"temp6_enable", "0\n")
	put(t, dir, chip+"temp7_input", "")
	put(t, dir, chip+"temp8_input", "-5000\n")
	put(t, dir, chip+"temp9_input", "1\n")
	put(t, dir, chip+"temp10_input", "1\n")
	m.Root = m.Root.With(failing{errs: map[string]error{"temp9_input": syscall.EAGAIN,
		"temp10_input": syscall.EIO}})
	got := hwmonTemperatures(m.Root)
	want := []string{
		"acpitz@virtual/thermal/thermal_zone0/temp1 27.8 C", "coretemp@platform/coretemp.0/Core_0 44.0 C",
		"coretemp@platform/coretemp.0/Package_id_0 45.0 C", "coretemp@platform/coretemp.0/temp8 -5.0 C",
		"nvme@pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme*/Composite 38.9 C",
	}
	must.EqualList(t, shown(got), want)
	all := strings.Join(got.Remarks, "\n")
	for _, part := range []string{"temp3 left out", "temp4 left out: 255.0 C is impossible",
		"temp5 left out: reports a fault", "temp6 left out: is disabled", "temp7 left out",
		"resource temporarily unavailable", "input/output error"} {
		must.Contain(t, all, part, "remarks lack")
	}
}

func TestNamelessAndDoubleSensors(t *testing.T) {
	m, dir := machine(t, "kvm-guest")
	for _, n := range []string{"2", "11"} {
		put(t, dir, "sys/class/hwmon/hwmon"+n+"/temp1_input", n+"000\n")
	}
	got := hwmonTemperatures(m.Root)
	// There is not even a device to distinguish them.
	want := []string{"unnamed@class/temp1#1 2.0 C", "unnamed@class/temp1#2 11.0 C"}
	must.Be(t, len(got.Readings) == 2 && got.Readings[0].Sensor != got.Readings[1].Sensor &&
		got.Readings[0].MilliC == 2000, shown(got), "want something like", want)
	for _, r := range got.Readings {
		must.Be(t, strings.HasPrefix(r.Sensor, "unnamed@") && !strings.ContainsAny(r.Sensor, " =\n"), "name",
			r.Sensor)
	}
}

// TestSensorsOfOneNameKeepTheirNumbers: while a sensor cannot be read, the others must not be
// mistaken for it, because its base temperature differs.
func TestSensorsOfOneNameKeepTheirNumbers(t *testing.T) {
	m, dir := machine(t, "kvm-guest")
	zone := func(n, temp string) {
		put(t, dir, "sys/class/thermal/thermal_zone"+n+"/type", "acpitz\n")
		put(t, dir, "sys/class/thermal/thermal_zone"+n+"/temp", temp)
	}
	for n, temp := range map[string]string{"0": "27000\n", "1": "40000\n", "2": "55000\n"} {
		zone(n, temp)
	}
	must.Equal(t, strings.Join(shown(hwmonTemperatures(m.Root)), ", "),
		"zone@acpitz#1 27.0 C, "+"zone@acpitz#2 40.0 C, zone@acpitz#3 55.0 C", "all")
	zone("0", "\n")
	must.Equal(t, strings.Join(shown(hwmonTemperatures(m.Root)), ", "),
		"zone@acpitz#2 40.0 C, "+"zone@acpitz#3 55.0 C", "without the first")
	zone("1", "\n")
	must.Equal(t, strings.Join(shown(hwmonTemperatures(m.Root)), ", "), "zone@acpitz#3 55.0 C",
		"the last alone")
	got := parseSensors("hw.sensors.acpitz0.temp0=unknown\nhw.sensors.acpitz0.temp0=30.00 degC\n")
	must.Equal(t, strings.Join(shown(got), ", "), "acpitz0/temp0#2 30.0 C", "OpenBSD")
}

func TestStablePlace(t *testing.T) {
	for _, test := range [][2]string{ // below /sys/devices/
		{"platform/coretemp.0", "platform/coretemp.0"},
		{"virtual/thermal/thermal_zone0/hwmon0", "virtual/thermal/thermal_zone0"},
		{"pci0000:00/0000:00:01.0/nvme/nvme0/hwmon1", "pci0000:00/0000:00:01.0/nvme/nvme*"},
		{"i2c-1/1-0048", "i2c-*/*-0048"},
		{
			"pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/hwmon/hwmon4",
			"pci0000:00/0000:00:17.0/ata3/host*/target*/*:0:0:0",
		},
		{"pci0000:00/0000:00:08.1/0000:0b:00.0/hwmon/hwmon7", "pci0000:00/0000:00:08.1/0000:0b:00.0"},
		{
			"LNXSYSTM:00/LNXSYBUS:00/PNP0A08:00/device:3a/PNP0C14:01/wmi_bus/wmi_bus-PNP0",
			"LNXSYSTM:00/LNXSYBUS:00/PNP0A08:00/device:3a/PNP0C14:01/wmi_bus/wmi_bus-PNP0",
		},
	} {
		place, want := "/sys/devices/"+test[0], test[1]
		must.Equal(t, stablePlace(place), want)
	}
}

func TestParseSensors(t *testing.T) {
	// OpenBSD 6.0 and 7.4 on a PC; the values are formatted like print_sensor of sysctl(8).
	const text = `hw.sensors.cpu0.temp0=45.00 degC
hw.sensors.cpu0.frequency0=3600000000.00 Hz
hw.sensors.acpitz0.temp0=27.80 degC (zone temperature)
hw.sensors.acpitz0.temp1=29.85 degC (zone temperature), OK
hw.sensors.ksmn0.temp0=-3.50 degC
hw.sensors.it0.temp0=33.00 degC, WARNING
hw.sensors.it0.temp1=unknown
hw.sensors.it0.temp2=200.00 degC
hw.sensors.it0.fan0=1520 RPM
hw.sensors.acpibat0.volt0=11.10 VDC (voltage)
`
	got := parseSensors(text)
	want := []string{"acpitz0/temp0(zone_temperature) 27.8 C", "acpitz0/temp1(zone_temperature) 29.9 C",
		"cpu0/temp0 45.0 C", "it0/temp0 33.0 C", "ksmn0/temp0 -3.5 C"}
	must.EqualList(t, shown(got), want)
	must.Be(t, len(got.Remarks) == 2 && strings.Contains(got.Remarks[0], "it0/temp1 left out: says unknown"),
		"remarks", got.Remarks)
}

func TestSysctlTemperatures(t *testing.T) {
	got := sysctlTemperatures(t.Context(),
		scripted{"sysctl hw.sensors": "hw.sensors.cpu0.temp0=45.00 " + "degC\n"})
	must.Equal(t, len(got.Readings), 1, got)
	for _, c := range []host.Commands{nil, scripted{}} {
		got := sysctlTemperatures(t.Context(), c)
		must.Be(t, len(got.Readings) == 0 && len(got.Remarks) == 1, got)
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a/b", true}, {"*", "", true}, {"", "", true}, {"", "a", false},
		{"coretemp*", "coretemp@platform/x", true},
		{"*Package*", "coretemp@p/Package_id_0", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"*a*b*c", "xxaxxbxxc", true},
		{"*a*b*c", "xxaxxcxxb", false}, {"a*", "ba", false}, {"**", "x", true}, {"x", "xy", false},
	}
	for _, tt := range tests {
		must.Equal(t, match(tt.pattern, tt.name), tt.want, "match", tt.pattern, tt.name)
	}
}

func FuzzTemperatures(f *testing.F) {
	f.Add("45000", "Core 0", "hw.sensors.cpu0.temp0=45.00 degC (a, b), OK")
	f.Add("-1", "\x00=\xff", "hw.sensors.x.temp=NaN degC")
	f.Fuzz(func(t *testing.T, value, label, text string) {
		root := sysroot.New("/nowhere")
		var temps Temperatures
		if milli, err := parseMilliC(value); err == nil {
			temps.add(word(label), milli, temps.meet(word(label)))
			temps.add(word(label), milli, temps.meet(word(label)))
		}
		temps.finish()
		must.Be(t, len(temps.Readings) != 2 || temps.Readings[0].Sensor != temps.Readings[1].Sensor,
			"two sensors of one name", temps.Readings)
		temps.Readings = append(temps.Readings, parseSensors(text).Readings...)
		for _, r := range temps.Readings {
			must.Be(t, !strings.ContainsAny(r.Sensor, " =\n\t\x00") && r.MilliC >= leastMilliC &&
				r.MilliC <= mostMilliC, "reading", r)
		}
		stablePlace(label)
		must.Be(t, match("*", label), "* does not match", label)
		_ = devicePlace(root, "/"+strings.Trim(label, "/"))
	})
}
