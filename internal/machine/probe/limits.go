package probe

import (
	"fmt"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
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
