package lifecycle

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// The kinds of boots of krund in an experiment.
const (
	making   = "first boot, which makes the schedule"
	measured = "boot with an execution"
	last     = "boot with the last execution"
	mending  = "boot after a cut in an execution"
)

// cut is one power cut: at a step of the next boot of its phase or, without a phase, some time
// after the previous one.
type cut struct {
	phase  string
	step   int
	moment time.Duration
}

func (c cut) String() string {
	if c.phase == "" {
		return "after " + c.moment.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("before step %d of the %s", c.step, c.phase)
}

// The longest time between two random cuts. A start takes about five seconds on an idle host, so
// the cuts hit all phases of one or several starts.
const longest = 15 * time.Second

func moment(random *rand.Rand) time.Duration { return time.Duration(random.Int64N(int64(longest))) }

// plan distributes n cuts over experiments of two. Three quarters of the cuts, but not more than
// there are steps, hit different steps of the three known phases. The other experiments have two
// cuts at random moments or, every second one, a cut in an execution and one in the boot that
// repairs it.
func plan(known map[string]int, n int, random *rand.Rand) [][]cut {
	var all []cut
	for _, phase := range []string{making, measured, last} {
		for step := range known[phase] {
			all = append(all, cut{phase: phase, step: step + 1})
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	of := map[string][]cut{}
	exact := min(len(all), n*3/4)
	for _, c := range all[:exact] {
		of[c.phase] = append(of[c.phase], c)
	}
	take := func(phases ...string) []cut { // one of the phase with the most remaining steps
		phase := slices.MaxFunc(phases, func(a, b string) int { return len(of[a]) - len(of[b]) })
		if len(of[phase]) == 0 {
			return nil
		}
		c := of[phase][0]
		of[phase] = of[phase][1:]
		return []cut{c}
	}
	var experiments [][]cut
	for n > 0 {
		cuts := take(making)
		if cuts == nil {
			cuts = take(measured)
		}
		if cuts == nil || cuts[0].phase == making {
			cuts = append(cuts, take(measured, last)...)
		} else {
			cuts = append(cuts, take(last)...)
		}
		if cuts == nil && n > 1 && len(experiments)%2 == 0 {
			cuts = []cut{{phase: measured, step: 9 + random.IntN(24)},
				{phase: mending, step: 1 + random.IntN(45)}}
		}
		for len(cuts) < 2 {
			cuts = append(cuts, cut{moment: moment(random)})
		}
		cuts = cuts[:min(n, 2)]
		experiments = append(experiments, cuts)
		n -= len(cuts)
	}
	return experiments
}

func TestStepsAreCountedUntilAnotherProcessBegins(t *testing.T) {
	console := []rig.Line{
		{Boot: 1, Text: "RIG-STEP 1 create /a"}, {Boot: 2, Text: "RIG-STEP 1 create /a"},
		{Boot: 2, Text: "noise"}, {Boot: 2, Text: "RIG-STEP 2 write /a"},
		{Boot: 2, Text: "RIG-STEP 1 create /b"}, {Boot: 2, Text: "RIG-STEP 2 write /b"},
	}
	for boot, want := range map[int]int{1: 1, 2: 2, 3: 0} {
		must.Equal(t, stepsOf(console, boot), want, "boot", "steps")
	}
}

func TestPlanCutsEveryStepOnceWhenThereAreEnough(t *testing.T) {
	known := map[string]int{making: 24, measured: 42, last: 40}
	for _, n := range []int{1, 2, 3, 12, 99, 100, 150, 301} {
		total, exact, mended := 0, map[cut]int{}, 0
		for _, cuts := range plan(known, n, rand.New(rand.NewPCG(1, 2))) {
			total += len(cuts)
			must.Be(t, len(cuts) <= 2 && (len(cuts) != 2 || cuts[1].phase != making), n, "cuts: experiment",
				cuts)
			if len(cuts) == 2 && cuts[1].phase == mending {
				mended++
				continue
			}
			for _, c := range cuts {
				if c.phase != "" && c.phase != mending {
					exact[c]++
				}
			}
		}
		must.Equal(t, total, n, "cuts planned")
		if want := min(106, n*3/4); len(exact) < want-1 || len(exact) > want {
			t.Errorf("%d cuts: %d at different steps, want %d", n, len(exact), want)
		}
		must.Be(t, n < 100 || mended != 0, n, "cuts: none in a boot that mends")
		for c, times := range exact {
			must.Equal(t, times, 1, n, "cuts", c)
		}
	}
}

// suite is the release of Debian in the image. Debian 13 is the first with soft reboots.
func suite() string { return cmp.Or(os.Getenv("KRUND_RIG_SUITE"), "bookworm") }

// goingDown prints a line when the userspace stops, before a restart of any kind.
const goingDown = `[Unit]
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/bash -c 'echo RIG-GOING-DOWN >/dev/ttyS0'
`

// TestExperimentBySoftReboot: an experiment runs to its end by soft reboots, with every third
// restart one of the hardware, and the power fails during the second soft reboot. Each record names
// what was restarted and a boot of its own, although soft reboots keep the kernel's name of the
// boot. No slot is lost or run twice.
func TestExperimentBySoftReboot(t *testing.T) {
	if suite() == "bookworm" {
		t.Skip("the image is Debian 12, whose systemd 252 has no soft reboots; run: make rig-trixie")
	}
	const executions = 6
	text := strings.Replace(byKexec(executions), "reboot = \"kexec\"\nhardware_every = 5",
		"reboot = \"soft\"\nhardware_every = 3", 1)
	var files rig.Payload
	files.Experiment(name, text)
	files.Unit("rig-going-down.service", goingDown, "sysinit.target")
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Time: executions * 15 * time.Second})
	t.Log(m.Sh("systemctl --version | head -1; krunctl check " + rig.ExperimentHome + "/" + name +
		".toml | grep -A3 restart"))
	m.Send("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	m.WaitConsole("^RIG-GOING-DOWN$")
	m.WaitConsole("^RIG-GOING-DOWN$")
	m.PowerCut()
	e := completed(t, m, executions)
	var kinds []string
	boots, kernels := map[string]bool{}, map[string]bool{}
	for _, r := range e.Records {
		kinds = append(kinds, r.Reboot)
		boots[r.BootID] = true
		kernel, number, _ := strings.Cut(r.BootID, "+")
		kernels[kernel] = true
		must.Be(t, (number != "") == (r.Reboot == results.RebootSoft), "slot", r.Slot,
			"after a restart of kind", r.Reboot, "is of boot", r.BootID)
		t.Logf("slot %d, attempt %d: %s, boot %s, started %s", r.Slot, r.Attempt, r.Reboot, r.BootID,
			r.Started.Format(time.TimeOnly))
	}
	must.Equal(t, len(boots), executions, "names of boots for", "executions")
	// The second restart was cut, and the third and sixth were planned so.
	const soft, hardware = results.RebootSoft, results.RebootHardware
	must.EqualList(t, kinds, []string{soft, hardware, hardware, soft, soft, hardware}, "the records name")
	must.Equal(t, len(kernels), 4, "starts of the kernel, want 4")
}

// byKexec is an experiment of one key whose executions start with kexec, and every fifth with the
// hardware.
func byKexec(executions int) string {
	text := strings.Replace(quick, "executions = 2", fmt.Sprintf("executions = %d\nreboot = \"kexec\"\n"+
		"hardware_every = 5", executions), 1)
	return strings.Replace(text, "fannkuch_redux = { parameter = 7 }\n", "", 1) +
		"[machines.\"*\".experiment]\nskip = [\"*:CPython:*\"]\n"
}

// completed lets the experiment run to its end and checks that each slot was completed once.
func completed(t *testing.T, m *rig.Machine, executions int) *rig.Experiment {
	t.Helper()
	m.RunToEnd(rig.UnitOf(name), executions)
	m.WaitUp()
	log := m.Sh("journalctl -o cat -u " + rig.UnitOf(name) + " | tail -5")
	m.Shutdown()
	e := m.Experiment(directory)
	e.Check(t)
	if n := e.Count(schedule.Completed); n != executions || len(e.Records) != executions {
		t.Errorf("%d slots completed, %d records, want %d of each\n%s", n, len(e.Records), executions, log)
	}
	return e
}

// TestExperimentByKexec: an experiment runs to its end by kexec, and the power fails during one of
// them. Each record names what was restarted, and no slot is lost or run twice.
func TestExperimentByKexec(t *testing.T) {
	rig.Long(t, "twenty executions take minutes; make rig runs them")
	const executions = 20
	var files rig.Payload
	files.Experiment(name, byKexec(executions))
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Time: executions * 15 * time.Second})
	m.Reboot() // the first start has an argument that unpacks files, which kexec would repeat
	m.WaitRunning()
	t.Log(m.Sh("krunctl check " + rig.ExperimentHome + "/" + name + ".toml | grep -A3 restart"))
	m.Send("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	m.WaitConsole("Rebooting with kexec")
	m.PowerCut()
	e := completed(t, m, executions)
	kinds := map[string]int{}
	boots := map[string]bool{}
	took := map[string]time.Duration{}
	var last time.Time
	for i, r := range e.Records {
		kinds[r.Reboot]++
		boots[r.BootID] = true
		if i > 0 {
			took[r.Reboot] += r.Started.Sub(last)
		}
		last = r.Started
	}
	must.Equal(t, len(boots), len(e.Records), "boots for", "records")
	must.Be(t, kinds[results.RebootKexec] >= executions/2 && kinds[results.RebootHardware] != 0,
		"the records name", kinds, "want kexec for most and hardware after the power cut")
	for kind, d := range took {
		t.Logf("%d executions after %s: %s from the execution before on average", kinds[kind], kind,
			(d / time.Duration(max(kinds[kind], 1))).Round(time.Millisecond))
	}
}

// TestSoftRebootIsRefused: Debian 12 has systemd 252, and krund says what is missing.
func TestSoftRebootIsRefused(t *testing.T) {
	if suite() != "bookworm" {
		t.Skip("the image is not Debian 12")
	}
	var files rig.Payload
	files.Experiment(name, strings.Replace(quick, "executions = 2", "executions = 2\nreboot = \"soft\"", 1))
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	m.Sh("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	ended := m.RunToEnd(rig.UnitOf(name), 0)
	must.Equal(t, ended.Result, "exit-code", "krund ended with", ended, "want an exit status")
	must.Contain(t, m.Log(name), "soft reboots came with version 254", "the log")
	m.Shutdown()
}
