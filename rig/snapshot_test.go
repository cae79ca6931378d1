package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestSnapshotOfBusyThreads: a thread that falls asleep and wakes up while its status is read has
// one line of affinity in each snapshot. The kernel's grace-period thread does that all the time
// (rcu_preempt; it binds itself only with nohz_full, rcu_bind_gp_kthread in
// kernel/rcu/tree_plugin.h:1332 of Linux 6.1). Its state is the third line of the status
// (fs/proc/array.c:181), and seeking writes the text anew (traverse, fs/seq_file.c:323).
func TestSnapshotOfBusyThreads(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	const looks = 3000 // reading line by line loses about one line in 500
	restless := exec.CommandContext(t.Context(), "bash", "-c",
		`coproc cat; while :; do read -rt 0.0005 -u ${COPROC[0]}; done`)
	if err := restless.Start(); err != nil {
		t.Skip("no bash here: ", err)
	}
	defer func() { _ = restless.Process.Kill(); _ = restless.Wait() }()
	proc := t.TempDir()
	for i := range looks {
		must.Do(t, os.Symlink(fmt.Sprintf("/proc/%d", restless.Process.Pid),
			filepath.Join(proc, fmt.Sprint(i))))
	}
	_, function, _ := strings.Cut(snapshotScript, "\nbound() {")
	function, _, found := strings.Cut(function, "\n}\n")
	must.Need(t, found, "snapshot.sh has no function bound")
	bound := exec.CommandContext(t.Context(), "bash", "-c", "bound() {"+function+"\n}\nbound")
	bound.Env = append(os.Environ(), "PROC="+proc)
	out, err := bound.Output()
	lines := strings.Count(string(out), "bash ")
	must.Be(t, err == nil && lines == looks, lines, looks, "lines", err)
}
