package console

import (
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/reading/summary"
)

// Announce writes what enabling an experiment does, and how to end it. start: it begins now;
// accept: changed programs are accepted.
func (out *Console) Announce(fsys durable.FS, cfg *config.Config, p summary.Plan, start, accept bool) {
	left := p.SlotsTotal - p.Finished
	out.Line("what", "%s: %s of %s", p.Experiment, display.Count(left, "process execution"),
		display.Count(len(p.Keys), "key"))
	if config.Restarts(p.Reboot) {
		out.Line("reboots",
			"this machine restarts before each of them, at most %d times, and logs out all users",
			p.MaxReboots)
		out.Line("the first", "%s", firstRestart(fsys, cfg, p, start))
	} else {
		out.Line("reboots", "none: all of them run after one boot")
	}
	out.Line("duration", "%s", p.ETA)
	for _, c := range []struct{ control, option, text string }{
		{"services", "stop", "stopped during the experiment"},
		{"network", "down", "taken down during the experiment"},
	} {
		demand := cfg.Control(c.control)
		if list := demand.List(c.option); len(list) > 0 && demand.Policy.Changes() {
			out.Line(c.control, "%s %s", strings.Join(list, ", "), c.text)
		}
	}
	if entry := cfg.Boot.Entry; entry != "" && config.Restarts(p.Reboot) {
		out.Line("boots",
			"with the boot loader's entry %s, requested once for each; all other boots are ordinary ones",
			entry)
	}
	if wait := cfg.Wait.Startup; config.Restarts(p.Reboot) && wait > 0 {
		out.Line("log in", "within %s of each boot, before a benchmark runs",
			display.Duration(wait.Round(time.Second)))
	}
	if asked, err := directory.Asked(fsys, p.Directory, directory.Hold); err == nil && asked {
		out.Line("held", "nothing runs until `krunctl resume %s`", display.ShellPath(p.Config))
	}
	if accept {
		out.Line("programs", "those that have changed are accepted; results before and after are kept apart")
	}
	out.Line("watch", "krunctl status %s", display.ShellPath(p.Config))
	out.Line("stop", "krunctl disable --stop %s", display.ShellQuote(p.Experiment))
}

// firstRestart returns when krund restarts the machine for the first time. The boot in which it
// makes the schedule has no process execution: it reads the base temperatures and restarts.
func firstRestart(fsys durable.FS, cfg *config.Config, p summary.Plan, now bool) string {
	f, err := directory.Open(fsys, p.Directory)
	if err == nil {
		_, err = fsys.Lstat(f.Schedule())
	}
	soon := "at once"
	if wait := cfg.Temperature.BaseWait; wait > 0 {
		soon = "after " + display.Duration(wait.Round(time.Second)) +
			", when the base temperatures have been read"
	}
	switch begun := err == nil; {
	case now && begun:
		return "at once, or after the process execution that begins now"
	case now:
		return soon + "; the first process execution follows it"
	case begun:
		return "not before you restart the machine; that boot continues the experiment"
	}
	return "not before you restart the machine; that boot makes the schedule and restarts " + soon
}
