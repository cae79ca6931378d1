// Package settings translates a configuration into what the controls (internal/control) and the probes (internal/probe) are asked for. It reads
// nothing and changes nothing; krund and krunctl share it, so that doctor and check say what run will do. Start reading at Controls.
package settings

import (
	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/probe"
	"krund/internal/setting"
)

// Controls translates the configuration's controls. With relaxed, demands that only the defaults make become warnings: an experiment
// without reboots runs on a laptop and leaves it as it is.
func Controls(cfg *config.Config, relaxed bool) control.Settings {
	get := func(name string) config.Control { return controlOf(cfg, name, relaxed) }
	policy := func(name string) setting.Policy { return setting.Policy(get(name).Policy) }
	number := func(name, option string) int { return int(get(name).Whole(option)) }

	s := control.Defaults()
	s.CPUs = get("shield").Text("cpus")
	s.Heap = cfg.Limits.Heap
	s.SMT.Policy = policy("smt")
	s.Frequency = control.FrequencySettings{Policy: policy("frequency"), KHz: get("frequency").Whole("khz"), Free: get("frequency").Flag("free")}
	s.Turbo = control.TurboSettings{Policy: policy("turbo"), MSR: get("turbo").Flag("msr")}
	s.CStates = control.CStatesSettings{Policy: policy("cstates"), Latency: number("cstates", "latency_us")}
	s.Tickless.Policy = policy("tickless")
	s.Isolcpus.Policy = policy("isolcpus")
	s.PerfRate = control.PerfRateSettings{Policy: policy("perf_rate"), Rate: number("perf_rate", "rate"), Percent: number("perf_rate", "percent")}
	s.NMIWatchdog.Policy = policy("nmi_watchdog")
	s.ASLR = control.ASLRSettings{Policy: policy("aslr"), Value: number("aslr", "value")}
	s.Swap.Policy = policy("swap")
	s.Overcommit = control.OvercommitSettings{Policy: policy("overcommit"), Mode: number("overcommit", "mode"), Ratio: number("overcommit", "ratio")}
	s.THP = control.THPSettings{Policy: policy("thp"), Enabled: get("thp").Text("enabled"), Defrag: get("thp").Text("defrag")}
	s.KSM = control.KSMSettings{Policy: policy("ksm"), Unmerge: get("ksm").Flag("unmerge")}
	s.NUMABalancing.Policy = policy("numa_balancing")
	s.Writeback.Policy = policy("writeback")
	s.StatInterval = control.StatIntervalSettings{Policy: policy("stat_interval"), Seconds: number("stat_interval", "seconds")}
	s.RTThrottle = control.RTThrottleSettings{Policy: policy("rt_throttle"), Runtime: number("rt_throttle", "runtime_us")}
	s.IRQAffinity.Policy = policy("irq_affinity")
	s.Shield = control.ShieldSettings{Policy: policy("shield"), Type: get("shield").Text("type")}
	s.Services = control.ServicesSettings{Policy: policy("services"), Stop: get("services").List("stop")}
	s.Network = control.NetworkSettings{Policy: policy("network"), Down: get("network").List("down")}
	s.APM.Policy = policy("apm")
	s.Malloc = control.MallocSettings{Policy: policy("malloc"), Flags: get("malloc").Text("flags")}
	return s
}

// Probes translates the configuration's probes in the same way.
func Probes(cfg *config.Config, relaxed bool) probe.Settings {
	policy := func(name string) setting.Policy { return setting.Policy(controlOf(cfg, name, relaxed).Policy) }
	return probe.Settings{
		Temperature: policy("temperature"), KernelLog: policy("kernel_log"), Throttle: policy("throttle"),
		Virtualisation: policy("virtualisation"), Fingerprint: policy("fingerprint"), Sensors: cfg.Temperature.Sensors,
	}
}

func controlOf(cfg *config.Config, name string, relaxed bool) config.Control {
	c := cfg.Control(name)
	if relaxed {
		return c.Relaxed()
	}
	return c
}
