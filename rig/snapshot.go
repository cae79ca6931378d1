package rig

import (
	_ "embed"
	"fmt"
	"strings"
)

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
