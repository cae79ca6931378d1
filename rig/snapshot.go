package rig

import (
	_ "embed"
	"fmt"
	"strings"
)

// snapshotScript prints the state of the machine, a line for each value.
//
//go:embed snapshot.sh
var snapshotScript string

// Volatile is a kind of line of a snapshot that says nothing about whether the machine is as it was found, and why. Whatever is not one of
// these is compared.
type Volatile struct {
	Pattern string // extended regular expression, as of grep -E
	Why     string
}

// volatile is what changes on a machine that nobody touches.
var volatile = []Volatile{
	{`^/sys/devices/system/cpu/cpufreq/policy[0-9]+/(scaling_cur_freq|cpuinfo_cur_freq|stats/(time_in_state|total_trans|trans_table)):`, "where the governor has got to, and its statistics"},
	{`^/sys/devices/system/cpu/cpu[0-9]+/cpuidle/state[0-9]+/(usage|time|rejected|above|below):`, "counts of naps"},
	{`^/proc/sys/kernel/(ns_last_pid|random/(uuid|entropy_avail)|pty/nr|sched_domain.*):`, "counts and draws anew"},
	{`^/proc/sys/kernel/tainted:(0|512)$`, "whether the kernel has warned of itself, as it may where the host is busy and ticks come late; the log of a test has the warning. All other reasons are compared"},
	{`^/proc/sys/vm/stat_refresh`, "reading it is an order to count"},
	{`^/sys/kernel/mm/ksm/(full_scans|pages_.*|stable_node_.*):`, "counts of pages"},
	{`^/sys/kernel/mm/transparent_hugepage/khugepaged/(full_scans|pages_collapsed):`, "counts of pages"},
	{`^process: root +(kworker.*|awk|xargs|find|bash|cat|grep|mv|ps|sed|setsid|sleep|sort|base64)$`, "the snapshot's own processes, the rig's, and the kernel's errands"},
	{`^(affinity: )(kworker|bash|grep|awk|sed|sort|sleep|base64|xargs|find).*`, "the same processes"},
	{`^file: /srv/krund/[^/]+[.](krun|toml)`, "the experiment"},
	{`^file: /etc/(passwd|group|shadow|gshadow|subuid|subgid)-`, "copies of the files as they were before the last change, which useradd and userdel keep"},
	{`^runfile: /run/krund `, "the directory of the lock that a krund holds while it works"},
	{`^(module: (msr|cpuid)|/sys/devices/system/cpu/hotplug/states:.*x86/(msr|cpuid):online)$`, "modules through which processors are read; the kernel does not tell whether somebody else uses one by now"},
}

// Snapshot is the state of the machine at one moment: every value that krund may change, and its neighbours. It stays in the guest, in memory.
type Snapshot struct{ file string }

// Snapshot takes one.
func (m *Machine) Snapshot() Snapshot {
	m.tb.Helper()
	var patterns strings.Builder
	for _, v := range volatile {
		patterns.WriteString(v.Pattern + "\n")
	}
	return Snapshot{m.Sh(fmt.Sprintf("mkdir -p /run/rig && cd /run/rig && cat >snapshot.sh <<'RIG-END'\n%sRIG-END\ncat >volatile <<'RIG-END'\n%sRIG-END\n"+
		"f=$(mktemp /run/rig/snapshot.XXXXXX) && bash snapshot.sh 2>&1 | grep -avEf volatile >$f; echo $f", snapshotScript, patterns.String()))}
}

// Lines returns how many values the snapshot holds.
func (m *Machine) Lines(s Snapshot) string {
	m.tb.Helper()
	return m.Sh("wc -l <" + s.file)
}

// Since returns what is different now, as diff(1) prints it without context: lines that are gone with "-" before them, new ones with "+".
func (m *Machine) Since(before Snapshot) []string {
	m.tb.Helper()
	after := m.Snapshot()
	var changed []string
	out, _ := m.Try(fmt.Sprintf("diff -U0 %s %s | grep -a '^[-+]' | grep -avE '^(---|[+][+][+]) /run/rig/'", before.file, after.file))
	for line := range strings.Lines(out) {
		changed = append(changed, strings.TrimSuffix(line, "\n"))
	}
	return changed
}
