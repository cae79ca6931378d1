// Package doctor reports whether a machine is fit to measure: one row for each setting that krund
// controls, each sensor that it reads, the programs that move settings, each source of processor
// counters, each interpreter of the experiment, and its boot entry. `krund check` and `krunctl
// doctor` print the table. The package only reads. Start reading at Look.
package doctor

import (
	"context"
	"os"
	"slices"

	"krund/internal/boot/autostart"
	"krund/internal/control"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
)

// Wishes are the requirements for a machine.
type Wishes struct {
	Control      control.Request
	Probe        probe.Request
	Counters     msr.Want
	Switches     bool // the experiment records context switches
	Interpreters []Interpreter
	Restart      string           // kind of restart that this machine may not have; "" if none
	Entry        *autostart.Entry // boot loader entry of the experiment's boots; nil if none
}

// Settings returns what [controls] can name: the controls, then the probes.
func Settings() []setting.Descriptor { return append(control.Descriptors(), probe.Descriptors()...) }

// Study returns the requirements of the warmup study.
func Study() Wishes {
	return Wishes{
		Control: control.Defaults(), Probe: probe.Defaults(),
		Counters: msr.Want{Sources: []string{msr.Perf, msr.MSR, msr.None}, Scope: msr.PerCore},
	}
}

// Of returns the requirements of an experiment that is run with this reboot mode.
func Of(cfg *config.Config, reboot string) Wishes {
	demands := cfg.Controls
	if !config.Restarts(reboot) {
		demands = demands.Relaxed()
	}
	w := Wishes{
		Control: control.Request{Demands: demands, Heap: cfg.Limits.Heap},
		Probe:   probe.NewRequest(demands, cfg.Temperature.Sensors),
		Counters: msr.Want{Sources: cfg.Counters.Sources, Scope: cfg.Counters.Scope,
			Interrupts: slices.Contains(cfg.Counters.Kernel, config.KernelInterrupts)},
		Switches:     slices.Contains(cfg.Counters.Kernel, config.KernelSwitches),
		Interpreters: interpreters(cfg),
	}
	if reboot == config.RebootKexec || reboot == config.RebootSoft {
		w.Restart = reboot
	}
	if e, ok := autostart.EntryOf(cfg, reboot, sysroot.Root{}); ok {
		w.Entry = &e
	}
	return w
}

// Counters returns which of the wanted counter sources are available; msr.Probe is one
// implementation.
type Counters func(context.Context, sysroot.Root, msr.Want) []msr.SourceFinding

// Look returns the rows of the table.
func Look(ctx context.Context, m *control.Machine, w Wishes, counters Counters) []setting.Finding {
	return append(control.CheckAll(ctx, m, w.Control), Readings(ctx, m, w, counters)...)
}

// Readings is Look without the settings, for callers that have already checked them.
func Readings(ctx context.Context, m *control.Machine, w Wishes, counters Counters) []setting.Finding {
	rows := probe.Check(ctx, m.Host, w.Probe)
	rows = append(rows, probe.CheckLoad(m.Host, os.Getpid()), probe.CheckLimits(m.Host),
		probe.CheckScheduler(ctx, m.Host),
		control.CheckTuners(ctx, m))
	rows = append(rows, checkCounters(ctx, m.Root, w.Counters, counters)...)
	if w.Switches {
		rows = append(rows, checkSwitches(m.Root))
	}
	for _, i := range w.Interpreters {
		rows = append(rows, i.check(ctx))
	}
	if w.Restart != "" {
		rows = append(rows, checkRestart(w.Restart, m.Root))
	}
	if w.Entry != nil {
		entry := *w.Entry
		entry.Root = m.Root
		rows = append(rows, checkEntry(entry))
	}
	return rows
}
