// Package process runs unusual benchmarks on a complete machine, where krund runs in its unit and
// as root. It tests what one execution leaves to the next, what a benchmark sees of its limits,
// what happens to one that exceeds its deadline, and what krund itself leaves behind. One boot
// serves all tests: none needs a reboot.
package process

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
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

//go:embed benchmarks litter outlive held
var suite embed.FS

// common is the shared part of the configurations. Its verbs: benchmarks, executions, iterations,
// skip, limits, controls.
const common = `
[experiment]
reboot = "none"
attempts = 1
benchmarks = %q
executions = %d
iterations = %d
skip = [%s]

[limits]
%s
` + rig.NoWaits + `
[controls]
tickless = "require"
%s

[vms.CPython]
runner = "python"
path = "python3"
variants = ["default"]

[variants.default]
entry = "bench.py"
`

// experiment is an experiment of the suite: all benchmarks of a directory in this package.
type experiment struct {
	name       string // name of the experiment, and of the directory of its benchmarks
	executions int
	iterations int
	limits     string
	more       string // TOML
	skip       string
	controls   string // TOML of the section [controls]
}

// add adds the experiment to the payload.
func (e experiment) add(t *testing.T, files *rig.Payload) {
	t.Helper()
	names, err := files.Benchmarks(e.name, suite, e.name)
	must.Need(t, err == nil && len(names) != 0, "benchmarks of", e.name, names, err)
	text := fmt.Sprintf(common, e.name, e.executions, e.iterations, e.skip, e.limits, e.controls) + e.more +
		"\n[benchmarks]\n"
	for _, name := range names {
		text += name + " = { parameter = 1 }\n"
	}
	files.Experiment(e.name, text)
}

// of returns the only record of a benchmark.
func of(t *testing.T, e *rig.Experiment, benchmark, vm string) results.Record {
	t.Helper()
	var found []results.Record
	for _, r := range e.Records {
		if r.Key.Benchmark == benchmark && r.Key.VM == vm {
			found = append(found, r)
		}
	}
	must.Need(t, len(found) == 1, len(found), "records of", benchmark, "with", vm, "want 1")
	return found[0]
}

// said decodes the JSON line that a benchmark printed.
func said(t *testing.T, r results.Record, into any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(r.Process.Stdout.Text), into), "what", r.Key, "printed",
		r.Process.Stdout.Text, r.Process.Stderr.Text)
}

// describe returns a short description of a record for a failure message.
func describe(r results.Record) string {
	p := r.Process
	return fmt.Sprintf("%s: %s; reasons: %s; exit %v, signal %q; %d iterations; strays %d; findings %q; "+
		"stderr: %s", r.Key, r.Outcome,
		strings.Join(r.Reasons, "; "), value(p.Exit), p.Signal, len(r.WallNS), p.Strays, p.Findings,
		p.Stderr.Text)
}

func value(p *int) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}

// stock is what exists on a machine and could be left behind by an experiment, by kind: sorted
// lines.
type stock map[string][]string

// The commands that take stock. systemd's own files, the journal and the experiments' directories
// change independently; the rig creates the units' drop-ins; the machine's lock is a file in the
// runtime directory that must not be removed while another process could wait for it.
var kinds = map[string]string{
	// systemd creates and removes its own
	"control groups": "find /sys/fs/cgroup -type d | grep -vE " +
		"'/system.slice/(.*@.*\\.service|system-.*\\.slice)$'",
	"mounts": "cat /proc/mounts",
	"processes": "ps -eo user:32=,args= | grep -v '\\[.*\\]$' | grep -E '^(krun|1[0-9]{3}) " +
		"|krund|python|bench'",
	"accounts": "cat /etc/passwd /etc/group",
	"files": "find / /dev/shm /run /tmp -xdev 2>/dev/null | " +
		"grep -vE '^/(srv/krund/[a-z]+\\.krun|etc/systemd/system/krund@|run/krund|var/log|" +
		"var/lib/systemd|run/(systemd|log|udev)|var/tmp/systemd|tmp/systemd|dev)(/|$|.*\\.service\\.d)'",
	"system V objects": "tail -n +2 -q /proc/sysvipc/* | cat",
}

func takeStock(m *rig.Machine) stock {
	s := make(stock)
	for kind, command := range kinds {
		out, _ := m.Try(command)
		s[kind] = slices.Compact(slices.Sorted(slices.Values(strings.Split(out, "\n"))))
	}
	return s
}

func (s stock) compare(t *testing.T, after stock) {
	for kind, was := range s {
		for _, line := range after[kind] {
			_, there := slices.BinarySearch(was, line)
			must.Be(t, there, kind, "new", line)
		}
		for _, line := range was {
			_, there := slices.BinarySearch(after[kind], line)
			must.Be(t, there, kind, "gone", line)
		}
	}
}
