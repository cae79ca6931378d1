package controls

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"krund/internal/machine/noise"
	"krund/rig"
	"krund/rig/must"
)

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
