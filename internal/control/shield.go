package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

const (
	groupRoot = "/sys/fs/cgroup"

	// ShieldGroup is the control group of the shielded CPUs, below the root of the control group
	// file system. Its processes live in groups below it, one for each process execution: cpuset is
	// enabled for its children, and systemd cannot disable a controller that the children of a
	// group use.
	ShieldGroup = "krund.shield"
)

const shieldDir = groupRoot + "/" + ShieldGroup

// shield gives the benchmark CPUs to a control group that is a cpuset partition (docs.kernel.org,
// admin-guide/cgroup-v2, cpuset.cpus.partition): the kernel removes them from all other groups. The
// group is a child of the root group, which always is a partition, so that every kernel with
// partitions accepts it. Without partitions, systemd's slices are restricted to the other CPUs, and
// the benchmark is merely bound to its own.
var shield = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "shield", Policy: setting.Off,
		Brief: "CPUs that only the benchmark uses",
		Why:   "the scheduler may put any process on the benchmark's CPU",
		Options: []setting.Option{
			{
				Name: "cpus", Default: "", Shape: cpuList, Example: "1-3,5", Values: "list of CPUs",
				Doc: "the CPUs that benchmarks run on, such as `\"1-3,5\"`, also for `tickless` and " +
					"`irq_affinity`. `\"\"` means all except the lowest; if the cores are of several " +
					"kinds, only the fast ones",
			},
			{
				Name: "type", Default: "root", Choices: []string{"root", "isolated"},
				Doc: "`\"root\"` balances threads over the CPUs; `\"isolated\"` does not, and suits a " +
					"single thread",
			},
		},
		What:  "a cpuset partition, the control group `krund.shield`",
		Notes: "see below",
	},
	targets: shieldTargets(),
	plan: func(ctx context.Context, m *Machine, d setting.Demand, r Request) Plan {
		kind := d.Text("type")
		cpus, online, err := m.PlannedCPUs(r)
		if err != nil {
			return cannot("unknown", kind, err.Error(), "")
		}
		if len(cpus) == 0 {
			return tooFew(m, "none", kind, online)
		}
		p := planShield(ctx, m, kind, cpus, online.Minus(cpus))
		if p.Status == setting.StatusCannot && d.Policy == setting.Apply {
			bound := fmt.Sprintf("the benchmark is bound to CPU %s, but other processes may run "+
				"there too", cpus)
			p.Detail = join(p.Detail, bound, "; ")
		}
		return p
	},
}

// cpuList matches CPU lists in the configuration.
var cpuList = regexp.MustCompile(`^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$`)

func grantsCPUs(s Step) bool { return s.Old == "-cpuset" && s.New == "+cpuset" && s.Data == "" }

func shieldTargets() []target {
	list := []target{
		{kind: KindGrant, name: is(groupRoot), values: grantsCPUs},
		{kind: KindGrant, name: is(shieldDir), values: grantsCPUs},
		{kind: KindGroup, name: is(shieldDir), values: from(is("absent"))},
		{kind: KindFile, name: is(shieldDir + "/cpuset.cpus"), values: from(is(""))},
		{kind: KindFile, name: is(shieldDir + "/cpuset.cpus.partition"), values: from(is("member"))},
		{kind: KindThreads, name: is("/proc"), values: func(s Step) bool {
			return isWords(s.Old) && wordsForm.MatchString(s.Data)
		}},
	}
	for _, slice := range systemdSlices {
		list = append(list, target{kind: KindSlice, name: is(slice), values: from(isCPUList)})
	}
	return list
}

func planShield(ctx context.Context, m *Machine, kind string, cpus, others host.CPUs) Plan {
	wanted := fmt.Sprintf("CPU %s %s", cpus, kind)
	if kind != "isolated" && kind != "root" {
		return cannot("unknown", wanted, fmt.Sprintf("no partition type %q", kind),
			`set type = "isolated" or "root"`)
	}
	text, err := m.Root.Read(groupRoot + "/cgroup.controllers")
	if errors.Is(err, fs.ErrNotExist) {
		return cannot("none", wanted, "cgroup v2 is not mounted at "+groupRoot,
			"boot with systemd.unified_cgroup_hierarchy=1")
	}
	if err != nil {
		return unreadable(wanted, err)
	}
	if !slices.Contains(strings.Fields(text), "cpuset") {
		return cannot("none", wanted, "the kernel offers no cpuset controller",
			"remove cgroup_disable=cpuset from the kernel's command line, or do not mount the version 1 "+
				"cpuset controller")
	}
	state, err := m.Root.Read(shieldDir + "/cpuset.cpus.partition")
	if err == nil && state == kind {
		text, _ := m.Root.Read(shieldDir + "/cpuset.cpus")
		if set, err := host.ParseCPUList(text); err == nil && set.Equal(cpus) {
			return ok(wanted, wanted)
		}
	}
	if m.Root.Exists(groupRoot+"/cgroup.procs") && !partitions(m.Root) {
		return planSlices(ctx, m, wanted, others)
	}
	return willSet("none", wanted, append(noteThreads(m), shieldSteps(m.Root, kind, cpus)...)...)
}

// shieldSteps creates the group, gives it the CPUs and makes it a partition. When restored, it
// first stops being a partition, so that all processes can use the CPUs again even if the group
// cannot be removed because the benchmark still runs in it.
func shieldSteps(root sysroot.Root, kind string, cpus host.CPUs) []Step {
	var steps []Step
	if !granted(root, groupRoot) {
		steps = append(steps, Step{Kind: KindGrant, Target: groupRoot, Old: "-cpuset", New: "+cpuset"})
	}
	return append(steps,
		Step{Kind: KindGroup, Target: shieldDir, Old: "absent", New: "present"},
		Step{Kind: KindFile, Target: shieldDir + "/cpuset.cpus", Old: "", New: cpus.String(),
			Form: FormCPUList},
		Step{Kind: KindGrant, Target: shieldDir, Old: "-cpuset", New: "+cpuset"},
		Step{Kind: KindFile, Target: shieldDir + "/cpuset.cpus.partition", Old: "member", New: kind,
			Form: FormPartition},
	)
}

// partitions reports whether the kernel supports cpuset partitions: then every group except the
// root has the file.
func partitions(root sysroot.Root) bool {
	if !granted(root, groupRoot) {
		return true // unknown until cpuset is enabled for the groups; otherwise the write fails
	}
	groups, err := root.Glob(groupRoot + "/*/cpuset.cpus")
	return err != nil || len(groups) == 0 || root.Exists(strings.TrimSuffix(groups[0], "cpuset.cpus")+
		"cpuset.cpus.partition")
}

// granted reports whether cpuset is enabled for the children of a group.
func granted(root sysroot.Root, group string) bool {
	text, err := root.Read(group + "/cgroup.subtree_control")
	return err == nil && slices.Contains(strings.Fields(text), "cpuset")
}

// A Place is where a benchmark runs. The zero Place means anywhere.
type Place struct {
	Cgroup string    // path from the root of the hierarchy, "/krund.shield/run"; "" means any
	CPUs   host.CPUs // to bind it to; nil means no binding
}

// Placement returns the place of a benchmark according to ApplyAll's findings: a group below the
// shield if the shield is set; bound to the benchmark CPUs if it was requested but could not be
// set, or only partly. If it was not requested, it is bound as the control placement says.
func Placement(m *Machine, r Request, findings []setting.Finding) Place {
	i := slices.IndexFunc(findings, func(f setting.Finding) bool { return f.Name == "shield" })
	cpus, online, err := m.PlannedCPUs(r)
	switch {
	case i < 0 || err != nil || len(cpus) == 0:
		return Place{}
	case !r.Of("shield").Policy.Changes():
		if best := m.oneSet(cpus, online); r.Of("placement").Policy.Changes() && len(best) >= leastSet {
			return Place{CPUs: best}
		}
		return Place{}
	}
	f := findings[i]
	if f.Status != setting.StatusSet && f.Status != setting.StatusOK ||
		strings.HasPrefix(f.Detail, affinityOnly) {
		return Place{CPUs: cpus}
	}
	return Place{Cgroup: "/" + ShieldGroup + "/run", CPUs: cpus}
}

// affinityOnly begins the remark of a partial shield.
const affinityOnly = "no cpuset partition"

// systemdSlices are the systemd units that hold all processes of a machine.
var systemdSlices = []string{"init.scope", "system.slice", "user.slice"}

// planSlices is for kernels without partitions (before 5.0): systemd keeps its own processes off
// the CPUs.
func planSlices(ctx context.Context, m *Machine, wanted string, others host.CPUs) Plan {
	var steps []Step
	for _, name := range systemdSlices {
		old, err := sliceApplier{m.Commands}.allowed(ctx, name)
		if err != nil {
			return cannot("none", wanted, affinityOnly+" in this kernel, and "+err.Error(),
				"use Linux 5.0 or later")
		}
		if old != others.String() {
			steps = append(steps, Step{Kind: KindSlice, Target: name, Old: old, New: others.String()})
		}
	}
	p := willSet("none", wanted, steps...)
	if len(steps) == 0 {
		p = ok(wanted, wanted)
	}
	p.Detail = affinityOnly + " in this kernel: systemd keeps its processes off the CPUs, but kernel " +
		"threads and load balancing remain"
	return p
}

// sliceApplier sets AllowedCPUs= of systemd units until reboot.
type sliceApplier struct{ commands host.Commands }

// allowed returns the CPUs that a unit is bound to, "" for all.
func (a sliceApplier) allowed(ctx context.Context, unit string) (string, error) {
	if a.commands == nil {
		return "", errors.New("systemctl is not available")
	}
	out, err := a.commands.Output(ctx, "systemctl", "show", "--value", "--property=AllowedCPUs", unit)
	if err != nil {
		return "", err
	}
	set, err := host.ParseCPUList(strings.Join(strings.Fields(string(out)), ","))
	return set.String(), err
}

func (a sliceApplier) set(ctx context.Context, unit, cpus string) error {
	if _, err := a.commands.Output(ctx, "systemctl", "set-property", "--runtime", unit,
		"AllowedCPUs="+cpus); err != nil {
		return err
	}
	got, err := a.allowed(ctx, unit)
	if err == nil && got != cpus {
		err = &sysroot.Mismatch{Name: unit + " AllowedCPUs", Wrote: cpus, Read: got}
	}
	return err
}

func (a sliceApplier) do(ctx context.Context, s Step) (string, error) {
	return s.New, a.set(ctx, s.Target, s.New)
}

func (a sliceApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	now, err := a.allowed(ctx, s.Target)
	return back(now == s.Old, err, func() error { return a.set(ctx, s.Target, s.Old) })
}

// noteThreads returns a step that changes nothing and records which threads are bound, none if
// there are none. When a cpuset partition is created or removed, every thread gets all CPUs of its
// control group: kernels before 6.2 discard the affinity set by sched_setaffinity(2), and all
// kernels discard the affinity that nohz_full= gives to kernel threads.
func noteThreads(m *Machine) []Step {
	all, err := m.Online()
	if err != nil || m.Bind == nil {
		return nil
	}
	var lines []string
	for _, t := range m.Threads() {
		if !t.CPUs.Equal(all) {
			lines = append(lines, fmt.Sprintf("%d %d %s", t.ID, t.Start, t.CPUs))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []Step{{Kind: KindThreads, Target: "/proc", Old: fmt.Sprintf("%d threads bound", len(lines)),
		New: "wherever their group may run", Data: strings.Join(lines, "\n")}}
}

// threadApplier restores the CPU affinity of threads.
type threadApplier struct{ m *Machine }

// do does nothing: the steps that follow change the threads.
func (threadApplier) do(context.Context, Step) (string, error) { return "", nil }

// restore binds the threads that still exist and are bound differently. It skips a thread that has
// just ended, or that the kernel does not bind (EINVAL: its group has none of the CPUs).
func (a threadApplier) restore(_ context.Context, s Step) (Restoration, error) {
	now := map[int]host.Thread{}
	for _, t := range a.m.Threads() {
		now[t.ID] = t
	}
	outcome := Already
	var errs []error
	for line := range strings.Lines(s.Data) {
		var was host.Thread
		var list string
		if _, err := fmt.Sscan(line, &was.ID, &was.Start, &list); err != nil {
			errs = append(errs, fmt.Errorf("journal: %q is not a thread", clip(line)))
			continue
		}
		cpus, err := host.ParseCPUList(list)
		is, there := now[was.ID]
		if err != nil || !there || is.Start != was.Start || is.CPUs.Equal(cpus) {
			continue
		}
		switch err := a.m.Bind(was.ID, cpus); {
		case err == nil:
			outcome = Restored
		case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ESRCH):
		default:
			errs = append(errs, fmt.Errorf("bind thread %d to CPU %s: %w", was.ID, cpus, err))
		}
	}
	if len(errs) > 0 {
		return Failed, errors.Join(errs...)
	}
	return outcome, nil
}
