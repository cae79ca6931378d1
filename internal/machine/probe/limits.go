package probe

import (
	"fmt"
	"path"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// CheckLimits returns the row about the limits of krund's control groups: a quota stops all threads
// of a benchmark for the rest of each period.
func CheckLimits(h host.Host) setting.Finding {
	f := setting.Finding{Name: "limits", Policy: setting.Warn, Status: setting.StatusOK, Found: "none",
		Wanted: "none", Why: "a limit of a control group stops or slows the benchmark when it is reached"}
	var found []string
	for _, l := range h.Limits() {
		found = append(found, fmt.Sprintf("%s of %s: %s", l.Kind, l.Group, l.Text))
	}
	if len(found) > 0 {
		f.Status, f.Found = setting.StatusDiffers, strings.Join(found, ", ")
		f.Fix = "lift it for the unit (CPUQuota=, MemoryHigh=) or the container (--cpus)"
	}
	return f
}

// ReachedLimits says which limits stopped or slowed processes between two readings.
func ReachedLimits(before, after []host.Limit) []string {
	var list []string
	for _, now := range after {
		for _, was := range before {
			if was.Group == now.Group && was.Kind == now.Kind && now.Count > was.Count {
				list = append(list, fmt.Sprintf("the limit of krund's control group %s was reached: %s "+
					"(%s), %d times", now.Group, now.Kind, now.Text, now.Count-was.Count))
			}
		}
	}
	return list
}

// powerLimits declares the probe of this file. Under apply a limit that moves during a run is a
// disturbance, under warn a remark.
var powerLimits = setting.Descriptor{
	Name: "power_limits", Policy: setting.Warn,
	Brief: "the processor's power limits stay the same during a run",
	Why:   "a processor at its power limit lowers its frequency, and thermald and firmware move the limit",
	What:  "`/sys/class/powercap/*/constraint_*_power_limit_uw`, `_time_window_us`, `enabled`",
	Notes: "Intel's RAPL; the record has the limits. They are never set",
}

// ReadPowerLimits reads the limits of all zones, in the kernel's order. What cannot be read is left
// out: drivers/powercap/powercap_sys.c of Linux 6.1:126 and 6.12:126 for the limits, 6.12:421 for
// enabled, which a zone that cannot be switched off lacks.
func ReadPowerLimits(root sysroot.Root) []results.PowerLimit {
	files, err := root.Glob("/sys/class/powercap/*/constraint_[0-9]*_power_limit_uw")
	if err != nil {
		return nil
	}
	var list []results.PowerLimit
	for _, file := range files {
		zone, constraint := path.Dir(file), strings.TrimSuffix(file, "power_limit_uw")
		limit, err := root.ReadInt(file)
		if err != nil {
			continue
		}
		name, _ := root.Read(zone + "/name")
		which, _ := root.Read(constraint + "name")
		window, _ := root.ReadInt(constraint + "time_window_us")
		enabled, err := root.Read(zone + "/enabled")
		list = append(list, results.PowerLimit{Zone: path.Base(zone), Name: name, Limit: which, UW: limit,
			WindowUS: window, Enabled: err != nil || enabled != "0"})
	}
	return list
}

// MovedLimits returns a sentence for each power limit that differs between two readings.
func MovedLimits(before, after []results.PowerLimit) []string {
	var moved []string
	for _, a := range after {
		for _, b := range before {
			if b.Zone == a.Zone && b.Limit == a.Limit && b != a {
				moved = append(moved, fmt.Sprintf("the power limit %s of %s (%s) moved from %s to %s",
					a.Limit, a.Name, a.Zone, describeLimit(b), describeLimit(a)))
			}
		}
	}
	return moved
}

func describeLimit(l results.PowerLimit) string {
	text := fmt.Sprintf("%g W over %g s", float64(l.UW)/1e6, float64(l.WindowUS)/1e6)
	if !l.Enabled {
		text += " (disabled)"
	}
	return text
}

func checkPowerLimits(limits []results.PowerLimit) setting.Finding {
	f := finding(powerLimits, "none", "unchanged during a run", "")
	var parts []string
	for _, l := range limits {
		parts = append(parts, l.Name+" "+l.Limit+" "+describeLimit(l))
	}
	if len(parts) > 0 {
		f.Found = strings.Join(parts, ", ")
	}
	return f
}
