package config

import (
	"fmt"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/key"
)

// What a quick run does: enough to see that everything runs.
const (
	QuickExecutions = 2
	QuickIterations = 20
)

// QuickMark ends the name of a quick run, so that its records, status and report show what it is.
const QuickMark = "-quick"

// Quick is Open of a configuration for a trial of the whole experiment: no reboots and no waits,
// two executions of at most 20 iterations, and a name that ends in QuickMark. The text of the
// result is that of the file with a section for it at the end, so that a copy of it plans the same.
// The files that it names must exist, as for Load.
func Quick(path, hostname string, settings []setting.Descriptor) (*Config, error) {
	whole, found, err := open(path, hostname, settings)
	if err == nil {
		if whole != nil { // not of the result, which has fewer executions and no restarts
			whole.checkStart(found)
		}
		err = found.errors()
	}
	if err != nil {
		return nil, err
	}
	c, found := parse(path, []byte(whole.Text+whole.quickSection()), hostname, settings)
	if c != nil {
		c.verdict = whole.verdict
		c.checkFiles(found)
	}
	if err := found.errors(); err != nil {
		return nil, err
	}
	return c, nil
}

// everyHost returns a pattern that matches each hostname and is not in the text: a section of it at
// the end of the text applies last, whatever the machine is called.
func everyHost(text string) string {
	pattern := "?*"
	for root, _ := decode(text); root.child(machinesSection).child(pattern) != nil; {
		pattern += "*"
	}
	return pattern
}

const quickComment = "\n# krund run --quick\n"

// IsQuick reports whether text is that of a configuration which Quick returned.
func IsQuick(text string) bool { return strings.Contains(text, quickComment+"[machines.") }

// quickSection applies to every machine, after the sections of the file: its pattern is not in the
// file.
func (c *Config) quickSection() string {
	var b strings.Builder
	at := fmt.Sprintf("[machines.%q.", everyHost(c.Text))
	name := c.Experiment.Name
	name = name[:min(len(name), key.MaxName-len(QuickMark))]
	fmt.Fprintf(&b, "\n"+quickComment+"%sexperiment]\nname = %q\nreboot = %q\n", at, name+QuickMark,
		RebootNone)
	fmt.Fprintf(&b, "executions = %d\niterations = %d\n", min(c.Experiment.Executions, QuickExecutions),
		min(c.Experiment.Iterations, QuickIterations))
	fmt.Fprintf(&b, "%swait]\nstartup = \"0s\"\nsync = \"0s\"\nsettle = \"0s\"\n", at)
	fmt.Fprintf(&b, "%stemperature]\nbase_wait = \"0s\"\n", at)
	for _, vm := range c.VMs {
		if c.lines[join(join("vms", vm.Name), "iterations")] > 0 {
			fmt.Fprintf(&b, "%svms.%q]\niterations = %d\n", at, vm.Name, min(vm.Iterations, QuickIterations))
		}
	}
	for _, benchmark := range c.Benchmarks {
		for _, size := range benchmark.Sizes {
			fmt.Fprintf(&b, "%sbenchmarks.%q", at, benchmark.Name)
			if size.VM != "" {
				fmt.Fprintf(&b, ".vms.%q", size.VM)
			}
			fmt.Fprintf(&b, "]\nexecutions = %d\niterations = %d\n", min(size.Executions, QuickExecutions),
				min(size.Iterations, QuickIterations))
		}
	}
	return b.String()
}
