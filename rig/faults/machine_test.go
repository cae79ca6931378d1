// Package faults makes the machine itself fail during an experiment: the kernel panics, hangs or
// runs out of memory, repeatedly.
package faults

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
)

// trigger runs as root and does what an unprivileged benchmark requests.
const trigger = `#!/bin/bash
mkdir -p /run/rig
mkfifo -m 622 /run/rig/trigger
while read -r what </run/rig/trigger; do
  echo "RIG-FAULT $what" >/dev/ttyS0
  case $what in
  panic) echo c >/proc/sysrq-trigger ;;
  hang) # nothing else gets a processor, including systemd, which then does not ping the watchdog
    echo -1 >/proc/sys/kernel/sched_rt_runtime_us
    for cpu in 0 1; do taskset -c $cpu chrt -f 99 bash -c 'while :; do :; done' & done ;;
  esac
done
`

// The harmful benchmarks; each language must have its file.
var harmful = map[string]string{
	"panics": `import time
def run_iter(p):
    with open("/run/rig/trigger", "w") as f:
        f.write("panic\n")
    time.sleep(1000)
`,
	"hangs": `import time
def run_iter(p):
    with open("/run/rig/trigger", "w") as f:
        f.write("hang\n")
    time.sleep(1000)
`,
	"eats": `held = []
def run_iter(p):
    while True:
        held.append(bytearray(b"x") * (8 << 20))
`,
	"good": `def run_iter(p):
    sum(range(p))
`,
}

// watchdog makes systemd ping the machine's watchdog, which resets the machine if the pings stop.
func watchdog(files *rig.Payload) {
	files.Text("/etc/modules-load.d/watchdog.conf", "i6300esb\n")
	files.Text("/etc/systemd/system.conf.d/watchdog.conf", "[Manager]\nRuntimeWatchdogSec=30\n")
}

// machine has an experiment with the given benchmarks, one execution each, and another one that
// does not start automatically: a benchmark that exhausts memory, with a heap limit.
func machine(t *testing.T, name, top string, benchmarks ...string) *rig.Machine {
	t.Helper()
	var files rig.Payload
	for b := range harmful {
		files.Text(rig.ExperimentHome+"/benchmarks/"+b+"/python/bench.py", harmful[b])
	}
	files.Experiment(name, experiment(top, benchmarks...))
	files.Enable(name)
	files.Experiment("limited", strings.Replace(experiment("executions = 1", "eats"), `"none"`, `"64MiB"`, 1))
	files.Script("/usr/local/rig/trigger", trigger)
	files.Unit("rig-trigger.service", "[Service]\nExecStart=/usr/local/rig/trigger\n", "multi-user.target")
	watchdog(&files)
	return rig.Krund(t, rig.Options{
		Payload: &files, Kernel: rig.Tickless + " " + rig.PanicReboots, Devices: []string{"-device",
			"i6300esb", "-watchdog-action", "reset"},
	})
}

// experiment returns a configuration; top contains lines of [experiment].
func experiment(top string, benchmarks ...string) string {
	text := "[experiment]\n" + top + rig.Limits("10m", "none") + rig.WarnOnly + rig.Python(2)
	for _, b := range benchmarks {
		text += fmt.Sprintf("%s = { parameter = 1000 }\n", b)
	}
	return text
}

func directoryOf(name string) string { return rig.ExperimentHome + "/" + name + ".krun" }

// of returns the records of a benchmark, ordered by attempt.
func of(e *rig.Experiment, benchmark string) []results.Record {
	var list []results.Record
	for _, r := range e.Records {
		if r.Key.Benchmark == benchmark {
			list = append(list, r)
		}
	}
	return list
}
