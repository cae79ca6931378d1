package controls

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// TestShare: beside services that keep both processors busy, a benchmark at nice -20 has a share
// of its processor only, until krund's control groups have the largest weight; afterwards the
// weights are as they were. A quota that stops the benchmark is named.
func TestShare(t *testing.T) {
	rig.Long(t, "not in the short selection")
	m := rig.KrundUp(t, rig.Options{})
	// the weight of a unit enables the controller for all units beside it
	m.Sh("for i in 1 2 3 4; do systemd-run -q -p CPUWeight=100 --unit rival$i " +
		"sh -c 'while :; do :; done'; done")
	m.Sh("echo $(cat /sys/fs/cgroup/system.slice/*/cpu.weight) >/run/weights")
	run := func(name, before, controls string) results.Record {
		text := "[experiment]\nreboot = \"none\"\nexecutions = 1\n" + rig.Limits("2h", "256MiB") +
			strings.Replace(rig.NBody(20), "= 100 }", "= 30000 }", 1) + "[controls]\n" + controls
		m.Put(toml(name), 0o644, []byte(text))
		ended(t, m, m.Start(before+"krund run --verbose "+toml(name)))
		return m.ExperimentNow(directory(name)).Records[0]
	}
	share := map[string]float64{}
	for _, policy := range []string{"off", "require"} {
		p := run(policy, "", fmt.Sprintf("weight = %q\n", policy)).Process
		share[policy] = float64(p.UTimeNS+p.STimeNS) / float64(p.WallNS)
	}
	t.Log("shares of a processor", share)
	must.Be(t, share["require"] > share["off"]+0.1, share)
	must.Equal(t, m.Sh("echo $(cat /sys/fs/cgroup/system.slice/*/cpu.weight) | diff - /run/weights"), "")
	m.Sh("systemctl stop 'rival*'")
	reasons := run("quota", "systemd-run -q --wait --pipe -p CPUQuota=50% ", "weight = \"off\"\n").Reasons
	must.Contain(t, strings.Join(reasons, "\n"), "CPU quota (50000 us of each 100000 us)")
}

// TestFairServer: since Linux 6.12 it is the fair server that takes 5 % from a real-time thread.
func TestFairServer(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	m.Sh("mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug")
	if m.Sh("[ -d /sys/kernel/debug/sched/fair_server ] && echo yes || :") == "" {
		t.Skip("this kernel has no fair server: " + m.Sh("uname -r"))
	}
	// ticks of an ordinary thread beside a real-time one on CPU 1
	const rivals = `taskset -c 1 sh -c 'while :; do :; done' & slow=$!
taskset -c 0 timeout 5 taskset -c 1 chrt -f 50 sh -c 'while :; do :; done'
set -- $(cat /proc/$slow/stat); kill $slow; echo ${14}`
	const servers = "cat /sys/kernel/debug/sched/fair_server/cpu*/runtime"
	before := m.Sh(servers)
	with := m.Sh(rivals)
	m.Hold()
	krund := begin(m, "fair", experiment("executions = 1\n")+"[controls]\nrt_throttle = \"require\"\n")
	m.WaitHeld()
	must.Equal(t, strings.Join(strings.Fields(m.Sh(servers)), " "), "0 0", "while measuring")
	without := m.Sh(rivals)
	m.LetGo()
	ended(t, m, krund)
	must.Equal(t, m.Sh(servers), before, "afterwards")
	t.Log("ticks of an ordinary thread in 5 s: with the fair server", with, "without", without)
}
