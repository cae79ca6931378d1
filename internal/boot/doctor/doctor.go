// Package doctor reports whether a machine is fit to measure: one row for each setting that krund
// controls, each sensor that it reads, the programs that move settings, each source of processor
// counters, each interpreter of the experiment, and its boot entry. `krund check` and `krunctl
// doctor` print the table. The package only reads. Start reading at Look.
package doctor

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	"krund/internal/boot/autostart"
	"krund/internal/control"
	"krund/internal/execution/switches"
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

// checkCounters makes a row of each wanted source. The rows are required when the experiment
// refuses to measure without counters and there are none.
func checkCounters(ctx context.Context, root sysroot.Root, want msr.Want, find Counters) []setting.Finding {
	runtime.LockOSThread() // with the scope task the counters are those of the calling thread
	defer runtime.UnlockOSThread()
	want.Sources = slices.Clone(want.Sources)
	enough := slices.Contains(want.Sources, msr.None)
	want.Sources = slices.DeleteFunc(want.Sources, func(s string) bool { return s == msr.None })
	found := find(ctx, root, want)
	enough = enough || slices.ContainsFunc(found, func(f msr.SourceFinding) bool { return f.Available })
	rows := make([]setting.Finding, 0, len(found))
	for _, f := range found {
		row := setting.Finding{
			Name: "counters " + f.Source, Policy: setting.Warn, Status: setting.StatusOK, Found: "available",
			Wanted: "available",
			Detail: strings.Join(append([]string{f.Why}, f.Notes...), "; "),
			Why:    "without them it is unknown whether the processor ran at full speed",
		}
		if f.Available && strings.HasPrefix(f.Why, "counts ") && !strings.Contains(f.Why, "cycles") {
			row.Status, row.Found, row.Wanted = setting.StatusDiffers, "no hardware counters", "cycles"
			row.Fix = "measure on bare metal, or with a virtual PMU; krund judges no frequency without"
		}
		if !f.Available {
			row.Status, row.Found = setting.StatusCannot, "not available"
			row.Fix = `see docs/counters.md; with "none" in [counters] sources krund measures with the clock alone`
		}
		if !enough {
			row.Policy = setting.Require
		}
		rows = append(rows, row)
	}
	return rows
}

// checkSwitches makes the row of the recording of context switches, which an execution does not
// need.
func checkSwitches(root sysroot.Root) setting.Finding {
	row := setting.Finding{Name: "counters switches", Policy: setting.Warn, Status: setting.StatusOK,
		Found: "available", Wanted: "available",
		Why: "without them it is unknown who else ran on the benchmark's processors"}
	watch, err := switches.Open(root, nil)
	if err == nil {
		err = watch.Close()
	}
	if err != nil {
		row.Status, row.Found, row.Detail = setting.StatusCannot, "not available", msr.Remedy(root, err)
		row.Fix = "see docs/counters.md, or remove it from kernel in [counters]"
	}
	return row
}
