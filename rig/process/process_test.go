package process

import (
	"fmt"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// The experiments, in execution order.
var (
	littering = experiment{name: "litter", executions: 3, iterations: 2, limits: `timeout = "3m"`}
	odd       = experiment{
		name: "benchmarks", executions: 1, iterations: 3,
		controls: `shield = "require"`, // the tickless CPU is reserved for the benchmark
		limits:   "heap = \"128MiB\"\nstack = \"1MiB\"\noutput = \"64KiB\"\ntimeout = \"3m\"",
		more: `
[vms.Silent]
runner = "c"
path = "/srv/krund/silent"
variants = ["default"]

[vms.Other]
runner = "python"
path = "python3"
args = ["-B"]
env = { ODD = "a value\twith = signs" }
variants = ["default"]
`,
		skip: exceptLook("Silent") + exceptLook("Other"),
	}
	// Long enough for two iterations on a busy host, but four benchmarks take only a few minutes.
	outliving = experiment{name: "outlive", executions: 1, iterations: 1000, limits: `timeout = "30s"`}
	holding   = experiment{name: "held", executions: 2, iterations: 1000, limits: `timeout = "30s"`}
)

// exceptLook returns the patterns of a VM with all benchmarks except look.
func exceptLook(vm string) string {
	var b strings.Builder
	for _, name := range []string{
		"breeder", "child_goes_on", "child_measures", "children", "closes", "daemons", "dies", "flood",
		"heap", "leaves", "raises", "scribbles", "stack",
	} {
		b.WriteString(`"` + name + ":" + vm + `:*", `)
	}
	return b.String()
}

// end waits for the end of an experiment.
func end(t *testing.T, m *rig.Machine, e experiment) {
	t.Helper()
	ended := m.RunToEnd(rig.UnitOf(e.name), 0)
	must.Equal(t, ended.Result, "success", e.name, "krund ended with", ended, "its log", m.Log(e.name))
}

func TestProcessExecutions(t *testing.T) {
	rig.Long(t, "takes minutes")
	var files rig.Payload
	for _, e := range []experiment{littering, odd, outliving, holding} {
		e.add(t, &files)
	}
	files.Script("/srv/krund/silent", "#!/bin/sh\necho nothing measured\n")
	files.Text("/srv/krund/kept", "root's\n")
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Devices: rig.SmallDisk(t, "frozen", 4)})
	before := takeStock(m)
	for _, e := range []experiment{littering, odd} {
		m.StartExperiment(e.name)
		end(t, m, e)
	}
	m.StartExperiment(outliving.name)
	// the clock is set: no deadline may depend on it
	for i, date := range []string{"2001-01-01", "2041-01-01"} {
		m.Sh(fmt.Sprintf("until [ $(ls %s/results | wc -l) -gt %d ]; do sleep 1; done; date -s %s",
			rig.Directory(outliving.name), i, date))
	}
	end(t, m, outliving)
	for _, command := range []string{"status", "summary", "check-data"} {
		out, status := m.Try("krunctl " + command + " " + rig.Directory(outliving.name))
		must.Equal(t, status, 0, "krunctl", command, "of records from three decades: exit status", out)
	}
	t.Run("krund leaves nothing behind", func(t *testing.T) { before.compare(t, takeStock(m.For(t))) })
	t.Run("a benchmark that the kernel cannot kill", func(t *testing.T) { held(t, m.For(t)) })
	m.Shutdown()
	t.Run("an execution sees nothing of the one before",
		func(t *testing.T) { noLitter(t, m.Experiment(rig.Directory(littering.name))) })
	t.Run("odd benchmarks", func(t *testing.T) { oddBenchmarks(t, m.Experiment(rig.Directory(odd.name))) })
	t.Run("benchmarks that outlive their deadline",
		func(t *testing.T) { outlived(t, m.Experiment(rig.Directory(outliving.name))) })
	t.Run("the held benchmark's record",
		func(t *testing.T) { heldRecords(t, m.Experiment(rig.Directory(holding.name))) })
}
