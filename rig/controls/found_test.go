package controls

import (
	"regexp"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// everything requests every setting of this machine, each with a value other than that of arranged.
const everything = `
[controls]
smt = "apply"
frequency = "require"
turbo = "apply"
cstates = "require"
tickless = "require"
isolcpus = "require"
perf_rate = "require"
nmi_watchdog = "apply"
aslr = "require"
swap = "require"
overcommit = { policy = "require", mode = 2, ratio = 90 }
thp = { policy = "require", enabled = "never", defrag = "never" }
ksm = { policy = "require", unmerge = true }
numa_balancing = "apply"
writeback = "require"
stat_interval = "require"
rt_throttle = "require"
irq_affinity = "apply"
shield = { policy = "require", type = "isolated" }
services = { policy = "require", stop = ["rig-stop*"] }
network = { policy = "require", down = ["dummy*"] }
`

// arranged is the machine's state before krund starts: no setting has the default of the kernel or
// the distribution.
const arranged = `set -e
modprobe dummy numdummies=2
swap() { dd if=/dev/zero of=$1 bs=1M count=16 status=none; chmod 600 $1; mkswap -q $1; shift; }
swap /srv/swap1; swapon /srv/swap1
swap /srv/swap2; swapon -p 7 /srv/swap2
cpu=/sys/devices/system/cpu
for p in $cpu/cpufreq/policy*; do
  echo ondemand >$p/scaling_governor
  echo 800000 >$p/scaling_min_freq; echo 2400000 >$p/scaling_max_freq
done
echo 71 >$cpu/cpufreq/ondemand/up_threshold
cd /proc/sys/kernel
echo 37 >perf_cpu_time_max_percent; echo 4242 >perf_event_max_sample_rate
echo 1 >randomize_va_space; echo 940000 >sched_rt_runtime_us
[ ! -e numa_balancing ] || echo 1 >numa_balancing
cd /proc/sys/vm
echo 1 >overcommit_memory; echo 61 >overcommit_ratio; echo 700 >dirty_writeback_centisecs; echo 7 >stat_interval
echo 3333 >min_free_kbytes
cd /sys/kernel/mm
echo always >transparent_hugepage/enabled; echo defer+madvise >transparent_hugepage/defrag; echo 1 >ksm/run
ip link set dummy0 up; ip link set dummy1 up mtu 1400
ip addr add 192.0.2.5/24 dev dummy0; ip addr add 192.0.2.6/24 dev dummy0; ip addr add 198.51.100.9/28 brd +
	dev dummy1
ip -6 addr add 2001:db8::5/64 dev dummy0 nodad
ip route add default via 192.0.2.1 dev dummy0 metric 77; ip route add 203.0.113.0/24 via 198.51.100.10 dev dummy1 mtu 1300
ip -6 route add default via 2001:db8::1 dev dummy0; ip -6 route add 2001:db8:9::/48 via 2001:db8::9 dev dummy0 metric 5
ip route add 203.0.113.128/25 dev dummy0 table 9
ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 dev dummy0 nud permanent
systemctl start rig-pinned.service rig-stop.service rig-stop-by-socket.socket rig-stop-by-timer.timer rig-stop-by-path.path rig-needs.service rig-part.service
echo wake | python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/run/rig-stop.sock")'
systemctl is-active rig-stop-by-socket.service || sleep 1
systemd-run -q --unit=rig-stop-transient.service sleep infinity
`

// services adds units of all kinds that krund stops. The first one reports its start and stop, and
// waits if a test wants it to.
func services(files *rig.Payload) {
	files.Script("/usr/local/bin/rig-slow", `#!/bin/bash
# Waits as long as a test wants.
if [ -e /run/rig/slow-$1 ]; then
  touch /run/rig/in-$1
  while [ -e /run/rig/slow-$1 ]; do sleep 0.02; done
  rm /run/rig/in-$1
fi
`)
	files.Link("/usr/local/bin/rig-forever", "/bin/sleep") // under its own name
	const forever = "ExecStart=/usr/local/bin/rig-forever infinity\n"
	files.Unit("rig-stop.service",
		"[Service]\nType=exec\nTimeoutSec=infinity\nExecStartPre=/usr/local/bin/rig-slow start\n"+
			forever+"ExecStop=/usr/local/bin/rig-slow stop\n")
	files.Unit("rig-needs.service",
		"[Unit]\nRequires=rig-stop.service\nAfter=rig-stop.service\n[Service]\n"+forever)
	files.Unit("rig-part.service", "[Unit]\nPartOf=rig-needs.service\n[Service]\n"+forever)
	files.Unit("rig-stop-by-socket.socket", "[Socket]\nListenStream=/run/rig-stop.sock\n")
	files.Unit("rig-stop-by-socket.service", "[Service]\n"+forever)
	files.Unit("rig-stop-by-timer.timer", "[Timer]\nOnActiveSec=1d\n")
	files.Unit("rig-stop-by-timer.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
	files.Unit("rig-stop-by-path.path", "[Path]\nPathExists=/run/no-such-file\n")
	files.Unit("rig-stop-by-path.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
	files.Unit("rig-pinned.service", "[Service]\nCPUAffinity=0\n"+forever)
	files.Unit("rig-stop-idle.service", "[Service]\n"+forever)
}

// during is the effect of everything.
const during = `
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor performance
/sys/devices/system/cpu/cpufreq/policy1/scaling_governor performance
/sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq 3000000
/sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq 3000000
/proc/sys/kernel/perf_event_max_sample_rate 1
/proc/sys/kernel/perf_cpu_time_max_percent 1
/proc/sys/kernel/randomize_va_space 2
/proc/sys/kernel/sched_rt_runtime_us -1
/proc/sys/vm/overcommit_memory 2
/proc/sys/vm/overcommit_ratio 90
/proc/sys/vm/dirty_writeback_centisecs 0
/proc/sys/vm/stat_interval 120
/sys/kernel/mm/transparent_hugepage/enabled always madvise [never]
/sys/kernel/mm/transparent_hugepage/defrag always defer defer+madvise madvise [never]
/sys/kernel/mm/ksm/run 2
/proc/swaps Filename Type Size Used Priority
/sys/fs/cgroup/krund.shield/cpuset.cpus.partition isolated
/proc/irq/default_smp_affinity 1
/sys/class/net/dummy0/operstate down
/sys/class/net/dummy1/operstate down
`

// TestTheMachineIsAsItWasFound uses one start.
func TestTheMachineIsAsItWasFound(t *testing.T) {
	rig.Long(t, "not in the short selection")
	var files rig.Payload
	files.Held()
	services(&files)
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless, MemoryMB: 2048})
	m.Sh(arranged)
	before := m.Snapshot()
	t.Run("two snapshots of an untouched machine are equal", func(t *testing.T) { same(t, m.For(t), before) })
	t.Run("after a whole run", func(t *testing.T) { wholeRun(t, m.For(t), before) })
	for _, moment := range []struct {
		name  string
		reach func(*rig.Machine) // lets krund reach the moment and stops it there
		pass  func(*rig.Machine) // lets krund continue
		set   bool               // all settings have the requested values at that moment
	}{
		{"while it stops services", func(m *rig.Machine) { slow(m, "stop") },
			func(m *rig.Machine) { fast(m, "stop") }, false},
		{"before the run", func(m *rig.Machine) { slow(m, "hook") }, func(m *rig.Machine) { fast(m, "hook") },
			true},
		{"during the run", func(m *rig.Machine) { m.WaitHeld() }, func(m *rig.Machine) { m.LetGo() }, true},
		{"while it starts services again", func(m *rig.Machine) { m.WaitHeld(); slow(m, "start") },
			func(m *rig.Machine) { fast(m, "start") }, false},
	} {
		for _, by := range []string{"krunctl repair --machine", "its guard"} {
			t.Run("after krund was killed "+moment.name+", by "+by, func(t *testing.T) {
				m := m.For(t)
				m.Hold()
				krund := begin(m, "found", experiment("executions = 1")+hook+everything)
				moment.reach(m)
				if moment.set {
					as(t, m, during)
				}
				if by == "its guard" {
					krund.Kill()
				} else {
					m.KillKrund(krund)
				}
				moment.pass(m)
				m.LetGo()
				if by == "its guard" {
					m.WaitNoKrund()
				} else {
					must.Contain(t, m.Sh("krunctl repair --machine "+toml("found")), "restored ",
						"krunctl repair --machine")
				}
				same(t, m, before)
				must.Equal(t, m.Sh("krunctl repair --machine "+toml("found")), "nothing to restore",
					"restoring again")
			})
		}
	}
}

// hook is a hook that a test can delay.
const hook = `
[hooks]
before = [["/usr/local/bin/rig-slow", "hook"]]
`

// slow delays the next stop or start of rig-stop.service, or the hook, and returns when it is
// waiting.
func slow(m *rig.Machine, what string) {
	m.Sh("touch /run/rig/slow-" + what)
	if what == "start" {
		m.LetGo() // let the run continue
	}
	m.Sh("until [ -e /run/rig/in-" + what + " ]; do sleep 0.05; done")
}

// fast ends the delay, and returns when it has ended.
func fast(m *rig.Machine, what string) {
	m.Sh("rm /run/rig/slow-" + what + "; while [ -e /run/rig/in-" + what + " ]; do sleep 0.05; done")
}

// transient matches the trace of a transient service, which cannot be started again.
var transient = regexp.MustCompile(`^rig-stop-transient.service .*running[^\n]*$`)

func wholeRun(t *testing.T, m *rig.Machine, before rig.Snapshot) {
	m.Hold()
	krund := begin(m, "found", experiment("executions = 1")+everything)
	m.WaitHeld()
	as(t, m, during)
	got, _ := m.Try("systemctl list-units --plain --no-legend 'rig-stop*' 'rig-needs*' 'rig-part*'")
	must.Be(t, transient.MatchString(got), "still active during the run", got)
	m.LetGo()
	ended(t, m, krund)
	same(t, m, before)
}
