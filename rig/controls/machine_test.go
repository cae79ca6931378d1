// Package controls lets krund set everything that it can set on a complete machine, kills it in the
// middle, and checks that the machine is restored. It also checks that the records and krunctl
// doctor describe the machine correctly.
package controls

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/machine/noise"
	"krund/rig"
	"krund/rig/must"
)

// toml and directory return the paths of the experiment with that name.
func toml(name string) string      { return rig.ExperimentHome + "/" + name + ".toml" }
func directory(name string) string { return rig.ExperimentHome + "/" + name + ".krun" }

// experiment returns an experiment in one boot with one key, whose benchmark the test can hold.
// more contains further lines of [experiment].
func experiment(more string) string {
	return "[experiment]\nreboot = \"none\"\n" + more + rig.Limits("4m", "256MiB") + rig.Python(1) +
		rig.HeldBenchmark + " = { parameter = 0 }\n"
}

// begin writes the configuration, removes an earlier experiment of that name, and starts krund as a
// user would.
func begin(m *rig.Machine, name, text string) *rig.Process {
	m.Put(toml(name), 0o644, []byte(text))
	m.Sh("rm -rf " + directory(name))
	return m.Start("krund run --verbose " + toml(name))
}

// ended waits for krund, which must have succeeded.
func ended(t *testing.T, m *rig.Machine, krund *rig.Process) {
	t.Helper()
	out, status := krund.Wait()
	must.Need(t, status == 0, "krund ended with status", status, out,
		m.Sh("journalctl -b -o short-monotonic --no-pager | tail -60"))
}

// as compares values in the guest with expected values. Each line of want is a path, a space, and
// the expected content.
func as(t *testing.T, m *rig.Machine, want string) {
	t.Helper()
	want = strings.TrimSpace(want)
	var script strings.Builder
	for line := range strings.Lines(want) {
		path, _, _ := strings.Cut(line, " ")
		fmt.Fprintf(&script, "echo %s $(cat %s)\n", path, path)
	}
	got := strings.Split(m.Sh(script.String()), "\n")
	for i, line := range strings.Split(want, "\n") {
		must.Be(t, i < len(got) && got[i] == line, line,
			strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""))
	}
}

// same fails the test for everything that has changed.
func same(t *testing.T, m *rig.Machine, before rig.Snapshot) {
	t.Helper()
	if warned, _ := m.Try("dmesg | grep -B2 -A30 'cut here'"); warned != "" {
		t.Logf("what the kernel warns of:\n%s", warned)
	}
	changed := m.Since(before)
	must.Be(t, len(changed) == 0, "the machine was not restored", strings.Join(changed, "\n"))
}

// planted keeps CPU 1 busy for a while, again and again.
const planted = `import os, time
os.sched_setaffinity(0, {1})
then = time.monotonic()
while True:
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    then += 0.2
    time.sleep(max(0, then - time.monotonic()))
`

// TestNoise plants a periodic disturbance and lets krunctl check --noise look for it, before and
// after the study's settings.
func TestNoise(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Text("/srv/planted.py", planted)
	files.Link("/usr/local/bin/planted", "/usr/bin/python3")
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	before := m.Snapshot()
	m.Sh("setsid nice -n -20 planted /srv/planted.py >/dev/null 2>&1 </dev/null &\n" +
		"until pgrep -x planted; do sleep 0.05; done")
	krunctl := m.Start("krunctl check --noise --prove --time 10s --executions 0")
	out, status := krunctl.Wait()
	must.Need(t, status == 0, "krunctl check --noise ended with status", status, out)
	t.Log(out)
	m.Sh("pkill -x planted")
	c := stored(t, m)
	must.Need(t, c.Controlled != nil && c.Virtual != "", c)
	for _, half := range []noise.Measurement{c.Plain, *c.Controlled} {
		cpu := half.Census.CPUs[0] // not its period: the emulator's host is busy
		first := slices.IndexFunc(cpu.Sources, func(s noise.Source) bool {
			return s.Kind == "thread" && !strings.HasPrefix(s.Name, "(") // which is all that has no name
		})
		must.Be(t, cpu.CPU == 1 && first >= 0 && strings.HasPrefix(cpu.Sources[first].Name, "planted ("), cpu)
	}
	m.Sh("rm -r /var/lib/krund/noise")
	same(t, m, before)
	experimentKeepsIt(t, m)
}

// experimentKeepsIt: an experiment has a copy of the certificate, and its report shows it.
func experimentKeepsIt(t *testing.T, m *rig.Machine) {
	m.Sh("krunctl check --noise --time 1s --executions 12") // slow under emulation
	if f := stored(t, m).Plain.Floor; f == nil || f.Executions != 12 || f.SDLog <= 0 {
		t.Errorf("the noise floor is %+v", f)
	}
	text := strings.Replace(experiment("executions = 1"), rig.HeldBenchmark, "nbody", 1)
	ended(t, m, begin(m, "kept", strings.Replace(text, "parameter = 0", "parameter = 10", 1)))
	m.Sh("cmp /var/lib/krund/noise/*.json " + directory("kept") + "/noise.json")
	m.Sh("krunctl report " + toml("kept") + " -o /srv/report && " +
		"grep 'noise certificate of' /srv/report/index.html")
}

// stored returns the only certificate of the machine.
func stored(t *testing.T, m *rig.Machine) noise.Certificate {
	t.Helper()
	var c noise.Certificate
	must.Do(t, json.Unmarshal([]byte(m.Sh("cat /var/lib/krund/noise/*.json")), &c))
	return c
}

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

const fullSpeed = `
[controls]
frequency = "require"
`

// governors is the state that the test sets first. powersave keeps CPU 0 at its lowest frequency,
// however busy it is; ondemand lets CPU 1 slow down when it is mostly idle.
const governors = `
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor powersave
/sys/devices/system/cpu/cpufreq/policy1/scaling_governor ondemand
/sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq 800000
/sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq 3000000
`

// TestGovernor uses one start. The actual P-state of the processor is observed from outside: in the
// register that the frequency driver writes.
func TestGovernor(t *testing.T) {
	var files rig.Payload
	files.Held()
	m := rig.KrundUp(t, rig.Options{Payload: &files})
	const policies = "/sys/devices/system/cpu/cpufreq/policy"
	m.Sh("echo powersave >" + policies + "0/scaling_governor; echo ondemand >" + policies +
		"1/scaling_governor")
	t.Run("an idle processor slows down before", func(t *testing.T) { slowsDown(m.For(t)) })
	t.Run("performance during the run, both after it", func(t *testing.T) {
		m := m.For(t)
		krund := heldAtFullSpeed(t, m)
		m.LetGo()
		ended(t, m, krund)
		as(t, m, governors)
		slowsDown(m)
	})
	t.Run("both after krund was killed in the middle of a run, and krunctl repair --machine",
		func(t *testing.T) {
			m := m.For(t)
			krund := heldAtFullSpeed(t, m)
			m.KillKrund(krund)
			t.Log(m.Sh("krunctl repair --machine " + toml("governor")))
			as(t, m, governors)
			m.LetGo()
			slowsDown(m)
		})
	t.Run("both after krund alone was killed, by its guard", func(t *testing.T) {
		m := m.For(t)
		heldAtFullSpeed(t, m).Kill()
		slowsDown(m)
		as(t, m, governors)
		m.LetGo()
	})
}

// slowsDown waits until the governors have slowed both processors down: CPU 0 to its lowest
// frequency, CPU 1 below its highest. If emulation is slow, an idle processor looks up to 40 %
// busy, and ondemand never chooses the lowest frequency.
func slowsDown(m *rig.Machine) {
	m.Await("the processors slow down", func() (string, bool) {
		a, b := m.PState(0), m.PState(1)
		return fmt.Sprintf("%d and %d MHz", a, b), a == 800 && b < 3000
	})
}

// heldAtFullSpeed starts krund and holds the benchmark in its first iteration: it sleeps, so that
// the previous governors would slow the processors down.
func heldAtFullSpeed(t *testing.T, m *rig.Machine) *rig.Process {
	m.Hold()
	krund := begin(m, "governor", experiment("executions = 1")+fullSpeed)
	m.WaitHeld()
	for range 20 {
		m.Sh("sleep 0.1")
		if a, b := m.PState(0), m.PState(1); a != 3000 || b != 3000 {
			t.Fatalf("during the run the processors are at %d and %d MHz, want 3000", a, b)
		}
	}
	return krund
}
