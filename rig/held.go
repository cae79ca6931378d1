package rig

// HeldBenchmark is the name of the benchmark of Payload.Held.
const HeldBenchmark = "held"

// heldBenchmark waits at the beginning of an iteration for as long as the test wants. It sleeps
// meanwhile, like an idle machine.
const heldBenchmark = `import os, time

HOLD = "/dev/shm/rig-hold"

def run_iter(parameter):
    if not os.path.exists(HOLD):
        return
    mark = "/dev/shm/rig-held.%d" % os.getpid()
    open(mark, "w").close()
    while os.path.exists(HOLD):
        time.sleep(0.02)
    os.unlink(mark)
`

// Held adds the benchmark "held", in Python, which a test can hold during a run: Hold, start krund,
// WaitHeld, inspect the machine, LetGo.
func (p *Payload) Held() {
	p.Text(ExperimentHome+"/benchmarks/"+HeldBenchmark+"/python/bench.py", heldBenchmark)
}

// Hold makes the next iteration of the benchmark "held" wait for LetGo, within this boot.
func (m *Machine) Hold() {
	m.tb.Helper()
	m.Sh("touch /dev/shm/rig-hold")
}

// WaitHeld waits until the benchmark is held, that is, until a run is in progress. It fails if
// krund is no longer running.
func (m *Machine) WaitHeld() {
	m.tb.Helper()
	m.Sh(`missed=0
until ls /dev/shm/rig-held.* >/dev/null 2>&1; do
  if pgrep -x krund >/dev/null; then missed=0; else missed=$((missed + 1)); fi
  if [ $missed = 20 ]; then
    echo "krund has ended:"
    cat /run/rig/process.*/out 2>/dev/null
    exit 1
  fi
  sleep 0.05
done`)
}

// LetGo lets the benchmark continue, and returns when it does. It ignores a benchmark that was
// killed while it was held.
func (m *Machine) LetGo() {
	m.tb.Helper()
	m.Sh(`rm -f /dev/shm/rig-hold
for f in /dev/shm/rig-held.*; do
  while [ -e "$f" ] && [ -e /proc/${f##*.} ]; do sleep 0.02; done
  rm -f "$f"
done`)
}

// NextHeld lets the held benchmark end, and returns when the next one is held.
func (m *Machine) NextHeld() {
	m.tb.Helper()
	// the benchmark polls for the file
	m.Sh("ls /dev/shm/rig-held.* >/run/rig-last && rm /dev/shm/rig-hold && while ls /dev/shm/rig-held.* " +
		"2>/dev/null | cmp -s - /run/rig-last; do sleep 0.01; done; touch /dev/shm/rig-hold")
	m.WaitHeld()
}
