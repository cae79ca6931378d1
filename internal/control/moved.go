package control

import (
	"context"
	"fmt"
	"path"
	"slices"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// A Snapshot is the state of the settings at one moment: what each control found, and which CPUs
// the machine uses.
type Snapshot struct {
	parts []part
	cpus  []cpuSet
}

// part is what one control found.
type part struct {
	name, found string
	status      setting.Status
	inForce     bool     // of Plan
	steps       []string // what it would change
}

// cpuSet is a set of CPUs that must stay the same during a run.
type cpuSet struct{ what, cpus string }

// TakeSnapshot reads the settings whose policy is not off. It only reads.
func TakeSnapshot(ctx context.Context, m *Machine, r Request) Snapshot {
	var s Snapshot
	for _, c := range Controls(r) {
		if c.Policy == setting.Off {
			continue
		}
		p := c.plan(ctx, m)
		now := part{name: c.Name, found: p.Found, status: p.Status,
			inForce: p.InForce || p.Status == setting.StatusOK}
		for _, step := range p.Steps {
			if step.Kind != KindThreads { // lists the threads of the moment
				now.steps = append(now.steps, fmt.Sprint(step.Kind, " ", step.Target, " ", step.Old))
			}
		}
		s.parts = append(s.parts, now)
	}
	if online, err := m.Online(); err == nil {
		s.cpus = append(s.cpus, cpuSet{"the CPUs online", online.String()})
	}
	if group, err := ownCPUs(m.Host); err == nil {
		s.cpus = append(s.cpus, cpuSet{"the CPUs of krund's control group", group.String()})
	}
	// docs.kernel.org, admin-guide/cgroup-v2: the CPUs that were granted, which change with hotplug
	// and with other partitions while cpuset.cpus stays.
	if shielded, err := m.ReadCPUs(shieldDir + "/cpuset.cpus.effective"); err == nil {
		s.cpus = append(s.cpus, cpuSet{"the CPUs of the shield", shielded.String()})
	}
	return s
}

// ownCPUs returns the CPUs that the control groups leave to this process: cpuset.cpus.effective of
// the nearest group that has one (docs.kernel.org, admin-guide/cgroup-v2, "Cpuset"), or
// cpuset.effective_cpus of its group of version 1.
func ownCPUs(h host.Host) (host.CPUs, error) {
	groups, err := h.Groups()
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		if file := groupRoot + group + "/cpuset.cpus.effective"; h.Root.Exists(file) {
			return h.ReadCPUs(file)
		}
	}
	if cpus, err := h.ReadCPUs(groupRoot + "/cpuset.cpus.effective"); err == nil {
		return cpus, nil
	}
	group, err := h.Root.Read("/proc/self/cpuset")
	if err != nil {
		return nil, err
	}
	return h.ReadCPUs(path.Join(groupRoot, "cpuset", path.Clean("/"+group), "cpuset.effective_cpus"))
}

// A Move is a setting that differs between two snapshots.
type Move struct {
	Control string // name of the control; "" for a set of CPUs
	Text    string // "frequency moved from ... to ..."
	Unread  bool   // it cannot be read now, so whether it has moved is unknown
}

// Since returns the settings that have moved since before was taken. A setting has moved when its
// control would change something that it would not have changed before, or no longer would: what
// the kernel rejected once does not count as long as it stays as it was.
func (s Snapshot) Since(before Snapshot) []Move {
	var moves []Move
	for i, now := range s.parts {
		if i >= len(before.parts) || before.parts[i].name != now.name {
			continue // of another request
		}
		was := before.parts[i]
		same := was.status == now.status || was.inForce && now.inForce
		switch {
		case same && slices.Equal(was.steps, now.steps):
		case now.status == setting.StatusCannot && now.found == unknown:
			moves = append(moves, Move{Control: now.name, Unread: true,
				Text: now.name + " cannot be read any more: whether it has moved is unknown"})
		default:
			moves = append(moves, Move{Control: now.name, Text: now.name + difference(was.found, now.found)})
		}
	}
	for i, now := range s.cpus {
		if i < len(before.cpus) && before.cpus[i].what == now.what && before.cpus[i] != now {
			moves = append(moves, Move{Text: now.what + difference(before.cpus[i].cpus, now.cpus)})
		}
	}
	return moves
}

// difference describes a change; controls that summarize many files may show the same text twice.
func difference(was, is string) string {
	if was == is {
		return " moved: was " + was + ", and is no longer all of it"
	}
	return fmt.Sprintf(" moved from %s to %s", orNothing(was), orNothing(is))
}

func orNothing(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// Found returns what the controls of that name found.
func (s Snapshot) Found(name string) string {
	found := ""
	for _, p := range s.parts {
		if p.name == name {
			found = join(found, p.found, ", ")
		}
	}
	return found
}
