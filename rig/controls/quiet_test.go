package controls

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// TestQuiet uses one start: what krund notices of a machine that others use, too.
func TestQuiet(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Held()
	services(&files)
	files.Unit("rig-late.timer", "[Timer]\nOnActiveSec=0\nAccuracySec=1us\n")
	files.Unit("rig-late.service", "[Service]\nType=oneshot\nTimeoutSec=infinity\n"+
		"ExecStart=/usr/local/bin/rig-slow late\n")
	files.Script("/usr/local/bin/tuned", "#!/bin/bash\nwhile :; do sleep 1; done\n")
	files.Link("/usr/local/bin/rig-busy", "/bin/bash")
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	t.Run("a program moves the governor and a limit during the run", func(t *testing.T) {
		movedDuringTheRun(t, m.For(t))
	})
	t.Run("a timer fires during the wait", func(t *testing.T) { timerDuringTheWait(t, m.For(t)) })
	t.Run("a job in the background", func(t *testing.T) { busyBackground(t, m.For(t)) })
	t.Run("packets interrupt the benchmark's processor", func(t *testing.T) { packets(t, m.For(t)) })
}

// sender sends packets that nobody waits for.
const sender = `import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for i in range(20):
        s.sendto(bytes(64), ("127.0.0.1", 9))
    print("sent", flush=True)
    time.sleep(0.001)
`

// packets: a program on CPU 0 sends packets to itself, which the kernel receives on CPU 1, and the
// remark names the interrupts. Not with perf: the kernel switches its scheduler's hooks on by
// changing code that both processors run, which the emulator does not survive.
func packets(t *testing.T, m *rig.Machine) {
	m.Sh("ip link set lo up; echo 2 >/sys/class/net/lo/queues/rx-0/rps_cpus")
	m.Put("/srv/flood.py", 0o644, []byte(sender))
	m.Sh("setsid taskset -c 0 python3 /srv/flood.py >/run/flood 2>&1 </dev/null &\n" +
		"until grep sent /run/flood; do sleep 0.05; done")
	text := strings.Replace(experiment("executions = 1"), rig.HeldBenchmark, "nbody", 1)
	text = strings.Replace(text, "parameter = 0", "parameter = 3000", 1)
	text = strings.Replace(text, `"4m"`, `"2h"`, 1) // a busy host does not reach it
	ended(t, m, begin(m, "packets", text+"[counters]\nsources = [\"none\"]\n"))
	m.Sh("pkill -f flood.py")
	r := m.ExperimentNow(directory("packets")).Records[0]
	reasons := strings.Join(r.Reasons, "\n")
	t.Log(reasons)
	must.Contain(t, reasons, "% of CPU 1 during the run: ")
	must.Be(t, slices.ContainsFunc(r.Machine.Load.Interrupts, func(i results.Interrupt) bool {
		return i.Kind == "softirq" && i.Name == "NET_RX"
	}), r.Machine.Load)
}

// movedDuringTheRun: the disturbed attempt is repeated, and the repetition counts.
func movedDuringTheRun(t *testing.T, m *rig.Machine) {
	m.Sh("setsid tuned >/dev/null 2>&1 </dev/null &\nuntil pgrep -x tuned; do sleep 0.05; done")
	m.Hold()
	krund := begin(m, "moved", experiment("executions = 1\nattempts = 2")+fullSpeed+
		"[verdict]\npolicy = \"rerun\"\n")
	m.WaitHeld()
	const policy = "/sys/devices/system/cpu/cpufreq/policy"
	m.Sh("cd " + policy + "0/..; echo powersave >policy0/scaling_governor\n" +
		"echo 1800000 >policy1/scaling_max_freq\n" +
		"until [ $(cat policy1/scaling_max_freq) = 1800000 ]; do sleep 0.05; done")
	m.LetGo()
	ended(t, m, krund)
	m.Sh("pkill -x tuned")
	list := m.ExperimentNow(directory("moved")).Records
	must.Need(t, len(list) == 2 && list[0].Outcome == results.Rerun && list[1].Outcome == results.Completed,
		len(list), "records", list)
	reasons := strings.Join(list[0].Reasons, "\n")
	for _, want := range []string{"powersave", "1800 MHz", "runs and changes it: tuned"} {
		must.Contain(t, reasons, want, "is not in the reasons")
	}
	t.Log(reasons)
	reasons = strings.Join(list[1].Reasons, "\n")
	must.Be(t, !strings.Contains(reasons, "moved"), "nothing moved in the second attempt", reasons)
}

// timerDuringTheWait: the timer is stopped, and krund waits for the service that it has started.
func timerDuringTheWait(t *testing.T, m *rig.Machine) {
	m.Sh("touch /run/rig/slow-late; systemctl start rig-late.timer")
	m.Sh("until [ -e /run/rig/in-late ]; do sleep 0.05; done")
	krund := begin(m, "timer", experiment("executions = 1")+"[controls]\ntimers = \"require\"\n")
	m.Sh("until grep 'waiting for systemd.*rig-late.service' /run/rig/process.*/out; do sleep 0.1; done")
	got := m.Sh("systemctl is-active rig-late.timer || true")
	must.Equal(t, strings.TrimSpace(got), "inactive", "the timer is", got, "during the experiment")
	found := m.Sh("ls " + directory("timer") + "/results")
	must.Equal(t, strings.TrimSpace(found), "", "krund did not wait", found)
	fast(m, "late")
	ended(t, m, krund)
	got = m.Sh("systemctl is-active rig-late.timer")
	must.Equal(t, strings.TrimSpace(got), "active", "the timer is", got, "afterwards")
	m.Sh("systemctl stop rig-late.timer")
}

// busyBackground: krund waits as long as it may, and then names the process.
func busyBackground(t *testing.T, m *rig.Machine) {
	m.Sh("setsid rig-busy -c 'while :; do :; done' >/dev/null 2>&1 </dev/null &\n" +
		"until pgrep -x rig-busy; do sleep 0.05; done")
	text := strings.Replace(experiment("executions = 1"), `startup = "0s"`,
		"startup = \"8s\"\nsettle = \"2s\"", 1)
	krund := begin(m, "busy", text)
	ended(t, m, krund)
	m.Sh("pkill -x rig-busy")
	list := m.ExperimentNow(directory("busy")).Records
	must.Need(t, len(list) == 1 && list[0].Machine.Settle != nil, len(list), "records", list)
	s := list[0].Machine.Settle
	reasons := strings.Join(list[0].Reasons, "\n")
	must.Be(t, !s.Quiet && s.WaitedNS >= 6e9 &&
		strings.Contains(reasons, "was not quiet when the run began") &&
		strings.Contains(reasons, "rig-busy"), s, "reasons", reasons)
	t.Log(reasons)
}
