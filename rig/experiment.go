package rig

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Experiment is the contents of an experiment's directory: the evidence that suites check.
type Experiment struct {
	Dir     string // on the host
	Size    int64  // of the schedule, bytes
	Header  schedule.Header
	Slots   []schedule.Slot
	Records []results.Record // by slot, then attempt
}

// Experiment reads a directory NAME.krun from the disk of a machine that is off. An unreadable
// schedule or record fails the test.
func (m *Machine) Experiment(dir string) *Experiment {
	m.tb.Helper()
	e, err := ReadExperiment(m.Disk().Dump(dir))
	m.check(err)
	return e
}

// ReadExperiment reads the directory of an experiment. Every slot and record must be readable: the
// error joins all that are not.
func ReadExperiment(dir string) (*Experiment, error) {
	f, err := directory.Open(durable.OS(), dir)
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	e := &Experiment{Dir: dir}
	info, err := durable.OS().Lstat(f.Schedule())
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	e.Size = info.Size()
	s, err := schedule.Open(durable.OS(), f.Schedule(), false)
	if err != nil {
		return nil, fmt.Errorf("read the experiment: %w", err)
	}
	e.Header = s.Header()
	var errs []error
	for slot, err := range s.Slots() {
		e.Slots = append(e.Slots, slot)
		errs = append(errs, err)
	}
	errs = append(errs, s.Close())
	for record, err := range results.NewReader(durable.OS(), f.Results()).All() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		e.Records = append(e.Records, record)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read the experiment in %s: %w", filepath.Base(dir), err)
	}
	return e, nil
}

// Finished reports whether no slot is outstanding.
func (e *Experiment) Finished() bool {
	return !slices.ContainsFunc(e.Slots, func(slot schedule.Slot) bool { return !slot.Flag.Final() })
}

// Count returns the number of slots with the flag.
func (e *Experiment) Count(flag schedule.Flag) int {
	n := 0
	for _, slot := range e.Slots {
		if slot.Flag == flag {
			n++
		}
	}
	return n
}

// Reasons returns the reasons of a record without those about a busy machine: emulated processors
// are withheld from the guest at any time.
func Reasons(r results.Record) []string {
	return slices.DeleteFunc(slices.Clone(r.Reasons), func(reason string) bool {
		return strings.HasPrefix(reason, results.BusyMachine)
	})
}

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

// These are parts of the configuration of a short experiment; they follow the section [experiment].
const (
	// NoWaits ends in the section [temperature].
	NoWaits = `
[wait]
startup = "0s"
sync = "0s"

[temperature]
base_wait = "0s"
`
	// WarnOnly is for controls that the rig's machine does not satisfy.
	WarnOnly = `
[controls]
isolcpus = "warn"
cstates = "warn"
overcommit = "warn"
`
)

// Limits limits each process execution, and has NoWaits.
func Limits(timeout, heap string) string {
	return fmt.Sprintf("\n[limits]\ntimeout = %q\nheap = %q\n", timeout, heap) + NoWaits
}

// NBody has one benchmark, in C.
func NBody(iterations int) string {
	return fmt.Sprintf(`
[vms.C]
runner = "c"
iterations = %d
variants = ["default-c"]

[variants.default-c]
entry = "bench.so"
subfolder = "c"

[benchmarks]
nbody = { parameter = 100 }
`, iterations)
}

// Python has CPython, and ends in the section [benchmarks], which is empty.
func Python(iterations int) string {
	return fmt.Sprintf(`
[vms.CPython]
runner = "python"
path = "python3"
iterations = %d
variants = ["default-python"]

[variants.default-python]
entry = "bench.py"
subfolder = "python"

[benchmarks]
`, iterations)
}
