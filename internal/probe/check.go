package probe

import (
	"context"
	"fmt"
	"strings"

	"krund/internal/host"
	"krund/internal/setting"
)

// Settings says under which policy each probe is, and which sensors gate.
type Settings struct {
	Temperature    setting.Policy
	KernelLog      setting.Policy
	Throttle       setting.Policy
	Virtualisation setting.Policy
	Fingerprint    setting.Policy
	Sensors        []string // patterns of sensors that gate; empty is all
}

// Defaults returns the study's settings: temperatures gate; the rest is reported.
func Defaults() Settings {
	return Settings{Temperature: setting.Require, KernelLog: setting.Warn, Throttle: setting.Apply,
		Virtualisation: setting.Warn, Fingerprint: setting.Warn}
}

// Check tells how each probe stands: whether the machine has it, and what it says now. It reads and
// never changes.
func Check(ctx context.Context, h host.Host, s Settings) []setting.Finding {
	findings := []setting.Finding{
		checkTemperature(ReadTemperatures(ctx, h), s), checkKernelLog(ctx, h),
		checkThrottle(ReadThrottle(h.Root)),
		checkVirtualisation(DetectVirtualisation(ctx, h)), checkFingerprint(ReadFingerprint(ctx, h, nil)),
	}
	for i, policy := range []setting.Policy{s.Temperature, s.KernelLog, s.Throttle, s.Virtualisation,
		s.Fingerprint} {
		findings[i].Policy = policy
		if policy == setting.Off {
			findings[i].Status, findings[i].Fix = setting.StatusOff, ""
		}
	}
	return findings
}

func checkTemperature(t Temperatures, s Settings) setting.Finding {
	f := setting.Finding{
		Name: "temperature", Status: setting.StatusOK, Wanted: "sensors to wait for",
		Why:    "a hot processor slows itself down, and so measures the weather",
		Detail: strings.Join(t.Remarks, "; "),
	}
	var gating []string
	for _, r := range t.Readings {
		if len(s.Sensors) == 0 || matchAny(s.Sensors, r.Sensor) {
			gating = append(gating, r.Sensor+" "+celsius(r.MilliC))
		}
	}
	f.Found = strings.Join(gating, ", ")
	if len(gating) == 0 {
		f.Status, f.Found = setting.StatusCannot, fmt.Sprintf("none of %d sensors", len(t.Readings))
		f.Fix = "load the driver of the sensors (coretemp, k10temp, nct6775), or choose existing ones in " +
			"[temperature] sensors"
	}
	return f
}

func checkKernelLog(ctx context.Context, h host.Host) setting.Finding {
	f := setting.Finding{Name: "kernel_log", Status: setting.StatusOK, Found: "readable", Wanted: "readable",
		Why: "the kernel says there when the hardware is in trouble"}
	log, err := WatchKernelLog(ctx, h)
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		f.Status, f.Found, f.Detail, f.Fix = setting.StatusCannot, "unreadable", err.Error(),
			"run as root, outside of containers"
	}
	return f
}

func checkThrottle(t Throttle) setting.Finding {
	f := setting.Finding{
		Name: "throttle", Status: setting.StatusOK, Wanted: "counted by the kernel",
		Why:   "a processor that slows itself down spoils the run",
		Found: plural(len(t.Counts), "counter"), Detail: strings.Join(t.Remarks, "; "),
	}
	if len(t.Remarks) > 0 {
		f.Status, f.Fix = setting.StatusCannot, "nothing to do: use the processor's counters, see [counters]"
	}
	return f
}

// CheckVirtualisation is that row of Check alone, under a policy. It runs systemd-detect-virt,
// unless the policy is Off.
func CheckVirtualisation(ctx context.Context, h host.Host, policy setting.Policy) setting.Finding {
	if policy == setting.Off {
		return setting.Finding{Name: "virtualisation", Policy: policy, Status: setting.StatusOff}
	}
	f := checkVirtualisation(DetectVirtualisation(ctx, h))
	f.Policy = policy
	return f
}

func checkVirtualisation(v Virtualisation) setting.Finding {
	f := setting.Finding{
		Name: "virtualisation", Status: setting.StatusOK, Found: v.String(), Wanted: "none",
		Why:    "another machine's load decides how fast this one runs",
		Detail: strings.Join(v.Evidence, "; "),
	}
	if !v.None() {
		f.Status, f.Fix = setting.StatusCannot, "measure on the hardware itself; numbers from here are for "+
			"development only"
	}
	return f
}

func checkFingerprint(fp Fingerprint) setting.Finding {
	f := setting.Finding{
		Name: "fingerprint", Status: setting.StatusOK, Found: fmt.Sprintf("%d properties", len(fp)),
		Wanted: "unchanged during an experiment",
		Why:    "an update in the middle splits an experiment in two",
	}
	var parts []string
	for _, name := range []string{"system.product", "cpu.model", "os", "kernel.release"} {
		if fp[name] != "" {
			parts = append(parts, fp[name])
		}
	}
	f.Detail = strings.Join(parts, ", ")
	return f
}

// plural is "1 counter", "2 counters".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
