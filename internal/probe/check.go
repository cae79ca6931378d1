package probe

import (
	"context"
	"fmt"
	"strings"

	"krund/internal/control"
)

// Settings are the policy of each probe and the sensors that gate.
type Settings struct {
	Temperature    control.Policy
	KernelLog      control.Policy
	Throttle       control.Policy
	Virtualisation control.Policy
	Fingerprint    control.Policy
	Sensors        []string // patterns of sensors that gate; empty means all
}

// Defaults returns the study's settings: temperatures gate, everything else is reported.
func Defaults() Settings {
	return Settings{Temperature: control.Require, KernelLog: control.Warn, Throttle: control.Apply,
		Virtualisation: control.Warn, Fingerprint: control.Warn}
}

// Check returns the state of each probe: whether the machine supports it, and its current reading.
// It only reads.
func Check(ctx context.Context, m *control.Machine, s Settings) []control.Finding {
	findings := []control.Finding{
		checkTemperature(ReadTemperatures(ctx, m), s), checkKernelLog(ctx, m),
		checkThrottle(ReadThrottle(m.Root)),
		checkVirtualisation(DetectVirtualisation(ctx, m)), checkFingerprint(ReadFingerprint(ctx, m, nil)),
	}
	for i, policy := range []control.Policy{s.Temperature, s.KernelLog, s.Throttle, s.Virtualisation,
		s.Fingerprint} {
		findings[i].Policy = policy
		if policy == control.Off {
			findings[i].Status, findings[i].Fix = control.StatusOff, ""
		}
	}
	return findings
}

func checkTemperature(t Temperatures, s Settings) control.Finding {
	f := control.Finding{
		Name: "temperature", Status: control.StatusOK, Wanted: "sensors to wait for", Why: "a hot processor throttles itself, so results depend on the room temperature",
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
		f.Status, f.Found = control.StatusCannot, fmt.Sprintf("none of %d sensors", len(t.Readings))
		f.Fix = "load the driver of the sensors (coretemp, k10temp, nct6775), or choose existing ones in " +
			"[temperature] sensors"
	}
	return f
}

func checkKernelLog(ctx context.Context, m *control.Machine) control.Finding {
	f := control.Finding{Name: "kernel_log", Status: control.StatusOK, Found: "readable", Wanted: "readable", Why: "the kernel reports hardware problems there"}
	log, err := WatchKernelLog(ctx, m)
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		f.Status, f.Found, f.Detail, f.Fix = control.StatusCannot, "unreadable", err.Error(),
			"run as root, outside of containers"
	}
	return f
}

func checkThrottle(t Throttle) control.Finding {
	f := control.Finding{
		Name: "throttle", Status: control.StatusOK, Wanted: "counted by the kernel", Why: "a throttled processor invalidates the run",
		Found: plural(len(t.Counts), "counter"), Detail: strings.Join(t.Remarks, "; "),
	}
	if len(t.Remarks) > 0 {
		f.Status, f.Fix = control.StatusCannot, "nothing to do: use the processor's counters, see [counters]"
	}
	return f
}

// CheckVirtualisation returns the row of Check for virtualization alone, under a policy. It runs
// systemd-detect-virt unless the policy is Off.
func CheckVirtualisation(ctx context.Context, m *control.Machine, policy control.Policy) control.Finding {
	if policy == control.Off {
		return control.Finding{Name: "virtualisation", Policy: policy, Status: control.StatusOff}
	}
	f := checkVirtualisation(DetectVirtualisation(ctx, m))
	f.Policy = policy
	return f
}

func checkVirtualisation(v Virtualisation) control.Finding {
	f := control.Finding{
		Name: "virtualisation", Status: control.StatusOK, Found: v.String(), Wanted: "none", Why: "the load of other machines affects the speed of this one",
		Detail: strings.Join(v.Evidence, "; "),
	}
	if !v.None() {
		f.Status, f.Fix = control.StatusCannot, "measure on bare hardware; numbers from this machine are only for development"
	}
	return f
}

func checkFingerprint(fp Fingerprint) control.Finding {
	f := control.Finding{
		Name: "fingerprint", Status: control.StatusOK, Found: fmt.Sprintf("%d properties", len(fp)), Wanted: "unchanged during an experiment",
		Why: "an update during an experiment makes its halves incomparable",
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

// plural returns, for example, "1 counter" or "2 counters".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
