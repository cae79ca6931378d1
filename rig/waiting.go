package rig

// WaitingBenchmark is the name of the benchmark of Payload.Waiting.
const WaitingBenchmark = "waits"

// Running is the console's line when a benchmark of Payload.Waiting has begun an iteration, for WaitConsole.
const Running = "^RIG-RUNNING$"

// GoOn is the command that lets it go on, and all others of this boot.
const GoOn = "touch /run/rig/go"

// waitingBenchmark rings, and goes on when there is the file that GoOn makes. A boot that nobody watches stands still in it.
const waitingBenchmark = `import os, time
def run_iter(p):
    with open("/run/rig/bell", "w") as f:
        f.write("ring\n")
    while not os.path.exists("/run/rig/go"):
        time.sleep(0.05)
`

// bell tells the test when a benchmark, which has no rights, rings it.
const bell = `#!/bin/bash
mkdir -p /run/rig
mkfifo -m 622 /run/rig/bell
while read -r what </run/rig/bell; do echo RIG-RUNNING >/dev/ttyS0; done
`

// Waiting adds the benchmark "waits", in Python, which stops in each of its runs until the test says GoOn: also in a boot that began by itself, before
// which nothing could be said (Held is for runs that the test starts).
func (p *Payload) Waiting() {
	p.Text(ExperimentHome+"/benchmarks/"+WaitingBenchmark+"/python/bench.py", waitingBenchmark)
	p.Script("/usr/local/rig/bell", bell)
	p.Unit("rig-bell.service", "[Service]\nExecStart=/usr/local/rig/bell\n", "multi-user.target", "bench.target")
}
