// Package probe inspects the machine before and after a run: temperatures, throttling, the kernel
// log, virtualization, and the identity of the machine. It only reads. Its readings are stored in
// the record, and internal/execution/verdict decides what they mean.
//
// Each probe is a file: a reading part that takes a Machine (its files below a root, its small
// programs), and pure parsers and comparisons that exist on every system. A probe that the machine
// does not support, or a broken sensor, causes a remark rather than an error, because the other
// readings are still useful.
//
//	before := probe.ReadThrottle(h.Root)                    // throttle.go
//	log, err := probe.WatchKernelLog(ctx, h)                // kernellog.go
//	result, err := gate.Wait(ctx, base, settings)           // gate.go
//	... the run ...
//	after := probe.ReadThrottle(h.Root)
//	lines, err := log.Drain()
//
// Check (check.go) returns a table row for each of them. The package also has the measurements of
// `krunctl check --prove`: Speed, Interrupts and Prove (speed.go, interrupts.go, prove.go) show
// whether a setting has the intended effect.
//
// Start reading at Check.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// A Request is the policy of each probe, and the sensors of the temperature gate.
type Request struct {
	Temperature    setting.Policy
	KernelLog      setting.Policy
	Throttle       setting.Policy
	PowerLimits    setting.Policy
	Virtualisation setting.Policy
	Fingerprint    setting.Policy
	Sensors        []string // patterns of sensors that gate; empty is all
}

// Descriptors returns the descriptors of all probes. The configuration treats probes like controls.
// Because probes set nothing, "apply" is the same as "warn" for most.
func Descriptors() []setting.Descriptor {
	return []setting.Descriptor{temperature, kernelLog, throttle, powerLimits, virtualisation, fingerprint}
}

// NewRequest creates a request from the demands of a configuration.
func NewRequest(demands setting.Demands, sensors []string) Request {
	policy := func(d setting.Descriptor) setting.Policy { return demands.Of(d.Name).Policy }
	return Request{
		Temperature: policy(temperature), KernelLog: policy(kernelLog), Throttle: policy(throttle),
		PowerLimits: policy(powerLimits), Virtualisation: policy(virtualisation),
		Fingerprint: policy(fingerprint), Sensors: sensors,
	}
}

// Defaults is the request of the study: temperatures gate, and the rest is reported.
func Defaults() Request { return NewRequest(setting.Defaults(Descriptors()), nil) }

// finding returns the row of a probe whose reading is as wanted.
func finding(d setting.Descriptor, found, wanted, detail string) setting.Finding {
	return setting.Finding{
		Name: d.Name, Status: setting.StatusOK, Found: found, Wanted: wanted, Detail: detail, Why: d.Why,
	}
}

// Check returns a row for each probe: whether the machine supports it, and its current reading. It
// changes nothing.
func Check(ctx context.Context, h host.Host, r Request) []setting.Finding {
	findings := []setting.Finding{
		checkTemperature(ReadTemperatures(ctx, h), r.Sensors, PlatformOf(h)),
		checkKernelLog(ctx, h, PlatformOf(h)),
		checkThrottle(ReadThrottle(h.Root), PlatformOf(h)), checkPowerLimits(ReadPowerLimits(h.Root)),
		checkVirtualisation(DetectVirtualisation(ctx, h)),
		checkFingerprint(ReadFingerprint(ctx, h, nil)),
	}
	policies := []setting.Policy{r.Temperature, r.KernelLog, r.Throttle, r.PowerLimits, r.Virtualisation,
		r.Fingerprint}
	for i, policy := range policies {
		findings[i].Policy = policy
		if policy == setting.Off {
			findings[i].Status, findings[i].Fix = setting.StatusOff, ""
		}
	}
	return findings
}

func checkTemperature(t Temperatures, sensors []string, p Platform) setting.Finding {
	f := finding(temperature, "", "sensors to wait for", strings.Join(t.Remarks, "; "))
	var gating []string
	sensors = GateSettings{Sensors: sensors}.counting(t.Readings)
	for _, r := range t.Readings {
		if len(sensors) == 0 || matchAny(sensors, r.Sensor) {
			gating = append(gating, r.Sensor+" "+celsius(r.MilliC))
		}
	}
	f.Found = strings.Join(gating, ", ")
	if len(gating) == 0 {
		f.Status, f.Found = setting.StatusCannot, fmt.Sprintf("none of %d sensors", len(t.Readings))
		f.Fix = p.Remedy("sensors")
	}
	return f
}

func checkKernelLog(ctx context.Context, h host.Host, p Platform) setting.Finding {
	f := finding(kernelLog, "readable", "readable", "")
	log, err := WatchKernelLog(ctx, h)
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		f.Status, f.Found, f.Detail = setting.StatusCannot, "unreadable", err.Error()
		if f.Fix = "run as root"; p.Container || errors.Is(err, fs.ErrNotExist) {
			f.Fix = p.Remedy("log")
		}
	}
	return f
}

func checkThrottle(t Throttle, p Platform) setting.Finding {
	f := finding(throttle, display.Count(len(t.Counts), "counter"), "counted by the kernel",
		strings.Join(t.Remarks,
			"; "))
	if len(t.Remarks) > 0 {
		f.Status, f.Found, f.Fix = setting.StatusCannot, "unknown", p.Remedy("throttle")
	}
	return f
}

// CheckVirtualisation is that row of Check alone, under a policy. It runs systemd-detect-virt,
// unless the policy is Off.
func CheckVirtualisation(ctx context.Context, h host.Host, policy setting.Policy) setting.Finding {
	if policy == setting.Off {
		return setting.Finding{Name: virtualisation.Name, Policy: policy, Status: setting.StatusOff}
	}
	f := checkVirtualisation(DetectVirtualisation(ctx, h))
	f.Policy = policy
	return f
}

func checkVirtualisation(v Virtualisation) setting.Finding {
	f := finding(virtualisation, v.String(), "none", strings.Join(v.Evidence, "; "))
	if !v.None() {
		f.Status, f.Fix = setting.StatusCannot,
			"measure on bare metal; numbers from here are for development only"
		if v.Machine == "" {
			f.Fix = "measure outside of the container, whose limits and settings are not the machine's"
		}
	}
	return f
}

func checkFingerprint(fp Fingerprint) setting.Finding {
	f := finding(fingerprint, fmt.Sprintf("%d properties", len(fp)), "unchanged during an experiment", "")
	var parts []string
	for _, name := range []string{"system.product", "cpu.model", "os", "kernel.release"} {
		if fp[name] != "" {
			parts = append(parts, fp[name])
		}
	}
	f.Detail = strings.Join(parts, ", ")
	return f
}
