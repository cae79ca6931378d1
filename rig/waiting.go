package rig

// WaitingBenchmark is the name of the benchmark of Payload.Waiting.
const WaitingBenchmark = "waits"

// Running is the console line, for WaitConsole, at the beginning of an iteration of a benchmark of
// Payload.Waiting.
const Running = "^RIG-RUNNING$"

// GoOn is the command that lets it continue, and all others of this boot.
const GoOn = "touch /run/rig/go"

// waitingBenchmark rings the bell and continues when the file that GoOn creates exists. An
// unattended boot blocks in it.
const waitingBenchmark = `import os, time
def run_iter(p):
    with open("/run/rig/bell", "w") as f:
        f.write("ring\n")
    while not os.path.exists("/run/rig/go"):
        time.sleep(0.05)
`

// bell notifies the test when a benchmark, which is unprivileged, rings it.
const bell = `#!/bin/bash
mkdir -p /run/rig
mkfifo -m 622 /run/rig/bell
while read -r what </run/rig/bell; do echo RIG-RUNNING >/dev/ttyS0; done
`

// Waiting adds the benchmark "waits", in Python, which waits in each of its runs until the test
// runs GoOn. Unlike Held, which is for runs that the test starts, it also works in a boot that
// starts automatically, before which no command can be sent.
func (p *Payload) Waiting() {
	p.Text(ExperimentHome+"/benchmarks/"+WaitingBenchmark+"/python/bench.py", waitingBenchmark)
	p.Script("/usr/local/rig/bell", bell)
	p.Unit("rig-bell.service", "[Service]\nExecStart=/usr/local/rig/bell\n", "multi-user.target",
		"bench.target")
}
