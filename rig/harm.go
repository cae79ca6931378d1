package rig

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Harm is a violation of something that must always hold.
type Harm struct {
	Kind HarmKind
	Text string // a sentence
}

// HarmKind is the kind of a violation, as counted by a campaign.
type HarmKind int

// The kinds.
const (
	Lost       HarmKind = iota // a completed result disappeared
	Twice                      // an execution has two results that count
	Unreadable                 // the schedule, or a record, cannot be read
	Endless                    // the experiment did not end
	Wrong                      // anything else
)

func (h Harm) String() string { return h.Text }

// texts returns the sentences.
func texts(harms []Harm) []string {
	var list []string
	for _, h := range harms {
		list = append(list, h.Text)
	}
	return list
}

// Problems returns violations of what must hold whatever happened to the machine, as sentences: a
// completed slot without a record, two results of one execution, an attempt that was not counted
// before it ran, two executions in one boot.
func (e *Experiment) Problems() []string { return texts(e.harms()) }

// Check reports the problems.
func (e *Experiment) Check(tb testing.TB) {
	tb.Helper()
	for _, problem := range e.Problems() {
		tb.Error(problem)
	}
}

// Since returns violations between the earlier state of the same experiment and this one: a record
// that disappeared or changed, a finished slot that changed, uncounted attempts or reboots, a
// schedule of another size.
func (e *Experiment) Since(earlier *Experiment) []string { return texts(e.harmsSince(earlier)) }

// Harms returns Problems and, if there is an earlier state, Since, with their kinds.
func (e *Experiment) Harms(earlier *Experiment) []Harm {
	harms := e.harms()
	if earlier != nil {
		harms = append(harms, e.harmsSince(earlier)...)
	}
	return harms
}

func (e *Experiment) harms() []Harm {
	var harms []Harm
	say := func(kind HarmKind, format string, args ...any) {
		harms = append(harms, Harm{kind, fmt.Sprintf(format, args...)})
	}
	completed := make(map[int]int)
	boots := make(map[string]string)
	for _, r := range e.Records {
		name := results.Name{Slot: r.Slot, Attempt: r.Attempt}.String()
		if r.Slot >= len(e.Slots) || e.Slots[r.Slot].Key != r.Key || e.Slots[r.Slot].Pexec != r.Pexec {
			say(Wrong, "%s is of %s execution %d, which is not what its slot was planned for", name, r.Key,
				r.Pexec)
			continue
		}
		slot := e.Slots[r.Slot]
		if r.Attempt > slot.Attempts {
			say(Wrong, "%s: the schedule has counted %d attempts only", name, slot.Attempts)
		}
		if r.Outcome == results.Completed {
			completed[r.Slot]++
			if slot.Flag.Final() && slot.Flag != schedule.Completed {
				say(Wrong, "%s is completed, its slot says %s", name, slot.Flag)
			}
		}
		if other, seen := boots[r.BootID]; seen && r.Reboot == results.RebootHardware {
			say(Wrong, "%s and %s ran in the same boot", other, name)
		}
		boots[r.BootID] = name
	}
	for _, slot := range e.Slots {
		switch n := completed[slot.Index]; {
		case n > 1:
			say(Twice, "slot %d has %d completed records: counted twice", slot.Index, n)
		case n == 0 && slot.Flag == schedule.Completed:
			say(Lost, "slot %d is completed and has no completed record: lost", slot.Index)
		}
	}
	return harms
}

func (e *Experiment) harmsSince(earlier *Experiment) []Harm {
	var harms []Harm
	say := func(kind HarmKind, format string, args ...any) {
		harms = append(harms, Harm{kind, fmt.Sprintf(format, args...)})
	}
	if e.Size != earlier.Size || len(e.Slots) != len(earlier.Slots) {
		say(Wrong, "the schedule had %d bytes and %d slots, now %d and %d", earlier.Size, len(earlier.Slots),
			e.Size, len(e.Slots))
		return harms
	}
	if e.Header.Reboots < earlier.Header.Reboots {
		say(Wrong, "%d reboots were counted, now %d", earlier.Header.Reboots, e.Header.Reboots)
	}
	now := make(map[results.Name]results.Record)
	for _, r := range e.Records {
		now[results.Name{Slot: r.Slot, Attempt: r.Attempt}] = r
	}
	for _, was := range earlier.Records {
		name := results.Name{Slot: was.Slot, Attempt: was.Attempt}
		if r, ok := now[name]; !ok {
			say(lostIf(was.Outcome == results.Completed), "%s is gone", name)
		} else if !reflect.DeepEqual(r, was) {
			say(Wrong, "%s has changed", name)
		}
	}
	for i, was := range earlier.Slots {
		slot := e.Slots[i]
		if was.Flag.Final() && slot.Flag != was.Flag {
			say(lostIf(was.Flag == schedule.Completed), "slot %d was %s, now %s", i, was.Flag, slot.Flag)
		}
		if slot.Attempts < was.Attempts {
			say(Wrong, "slot %d had %d attempts, now %d", i, was.Attempts, slot.Attempts)
		}
	}
	return harms
}

func lostIf(completed bool) HarmKind {
	if completed {
		return Lost
	}
	return Wrong
}

// snapshotScript prints the state of the machine, one value per line.
//
//go:embed snapshot.sh
var snapshotScript string

// Volatile matches lines of a snapshot that are irrelevant for whether the machine is restored,
// with the reason. All other lines are compared.
type Volatile struct {
	Pattern string // extended regular expression, as for grep -E
	Why     string
}

// volatile matches what changes on an untouched machine.
var volatile = []Volatile{
	{`^/sys/devices/system/cpu/cpufreq/policy[0-9]+/(scaling_cur_freq|cpuinfo_cur_freq|stats/(time_in_state|total_trans|trans_table)):`, "state and statistics of the governor"},
	{`^/sys/devices/system/cpu/cpu[0-9]+/cpuidle/state[0-9]+/(usage|time|rejected|above|below):`,
		"idle state counters"},
	{`^/proc/sys/kernel/(ns_last_pid|random/(uuid|entropy_avail)|pty/nr|sched_domain.*):`,
		"counters and random numbers"},
	{`^/proc/sys/kernel/tainted:(0|512)$`, "whether the kernel has warned of itself, as it may where the " +
		"host is busy and ticks come late; the log of a test has the warning. All other reasons are " +
		"compared"},
	{`^/proc/sys/vm/stat_refresh`, "reading it triggers a refresh"},
	{`^/sys/kernel/mm/ksm/(full_scans|pages_.*|stable_node_.*):`, "counts of pages"},
	{`^/sys/kernel/mm/transparent_hugepage/khugepaged/(full_scans|pages_collapsed):`, "counts of pages"},
	{`^process: root +(kworker.*|awk|xargs|find|bash|cat|grep|mv|ps|sed|setsid|sleep|sort|base64)$`,
		"processes of the snapshot, the rig and the kernel"},
	{`^(affinity: )(kworker|bash|grep|awk|sed|sort|sleep|base64|xargs|find).*`, "the same processes"},
	{`^file: /srv/krund/[^/]+[.](krun|toml)`, "the experiment"},
	{`^file: /etc/(passwd|group|shadow|gshadow|subuid|subgid)-`,
		"copies of the files as they were before the last change, which useradd and userdel keep"},
	{`^runfile: /run/krund `, "the directory of the lock that a running krund holds"},
	{`^(module: (msr|cpuid)|/sys/devices/system/cpu/hotplug/states:.*x86/(msr|cpuid):online)$`,
		"modules through which processors are read; the kernel does not report whether another program " +
			"uses one by now"},
}

// Snapshot is the state of the machine at one moment: every value that krund may change, and
// related ones. It is stored in the guest, in memory.
type Snapshot struct{ file string }

// Snapshot takes a snapshot.
func (m *Machine) Snapshot() Snapshot {
	m.tb.Helper()
	var patterns strings.Builder
	for _, v := range volatile {
		patterns.WriteString(v.Pattern + "\n")
	}
	return Snapshot{m.Sh(fmt.Sprintf("mkdir -p /run/rig && cd /run/rig && cat >snapshot.sh "+
		"<<'RIG-END'\n%sRIG-END\ncat >volatile <<'RIG-END'\n%sRIG-END\n"+
		"f=$(mktemp /run/rig/snapshot.XXXXXX) && bash snapshot.sh 2>&1 | grep -avEf volatile >$f; echo $f",
		snapshotScript, patterns.String()))}
}

// Since returns the differences to the current state, like diff(1) without context: removed lines
// start with "-", new ones with "+".
func (m *Machine) Since(before Snapshot) []string {
	m.tb.Helper()
	after := m.Snapshot()
	var changed []string
	out, _ := m.Try(fmt.Sprintf("diff -U0 %s %s | grep -a '^[-+]' | grep -avE '^(---|[+][+][+]) /run/rig/'",
		before.file, after.file))
	for line := range strings.Lines(out) {
		changed = append(changed, strings.TrimSuffix(line, "\n"))
	}
	return changed
}
