package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
)

// mostWeight is the largest value of cpu.weight (docs.kernel.org, admin-guide/cgroup-v2, "CPU").
const mostWeight = "10000"

// weight gives krund's control groups the largest weight. A nice value counts only among the tasks
// of one group: where the cpu controller is enabled, two groups of one parent share a CPU by their
// weights, whatever the nice values in them (kernel/sched/fair.c, update_cfs_group). systemd
// enables it for all units beside one with Delegate=yes, and for slices once somebody has logged
// in.
var weight = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "weight", Policy: setting.Apply,
		Brief: "krund's control groups go before all others",
		Why: "a nice value counts only within a control group: a service in another one takes up to " +
			"half of the benchmark's processor",
		What: "`cpu.weight` = 10000 of krund's control group and of those above it that have one",
		Notes: "control groups of version 2; without the cpu controller the nice value of -20 is enough. " +
			"With `shield` the benchmark's processors are its own in any case",
	},
	targets: []target{{kind: KindFile, name: isWeight, values: from(isNumber)}},
	plan:    fixed(planWeight),
}

// isWeight reports whether a path is the weight of a control group below the root.
func isWeight(name string) bool {
	return strings.HasPrefix(name, groupRoot+"/") && path.Base(name) == "cpu.weight" &&
		path.Clean(name) == name
}

func planWeight(_ context.Context, m *Machine) Plan {
	groups, err := m.Groups()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(mostWeight, err)
	}
	var found []string
	var steps []Step
	for _, group := range append(groups, "") { // a container's topmost group has one, the root has none
		file := groupRoot + group + "/cpu.weight"
		now, err := m.Root.Read(file)
		if err != nil {
			continue // the controller is not enabled for it
		}
		found = append(found, fmt.Sprintf("%s %s", now, path.Clean("/"+group)))
		if now != mostWeight {
			steps = append(steps, Step{Kind: KindFile, Target: file, Old: now, New: mostWeight})
		}
	}
	if file, shares := m.shares(); len(found) == 0 && shares != "" {
		fix := "boot with systemd.unified_cgroup_hierarchy=1, or start krund outside of the group"
		if probe.PlatformOf(m.Host).Container {
			fix = "start krund outside of the container"
		}
		return cannot("cpu.shares "+shares, mostWeight,
			file+" is of control groups of version 1, where krund sets none", fix)
	}
	p := ok("none", mostWeight)
	if len(found) > 0 {
		p = willSet(strings.Join(found, ", "), mostWeight, steps...)
	}
	if probe.PlatformOf(m.Host).Container {
		p.Detail = "the groups above this container are not seen from inside"
	}
	return p
}

// shares returns the weight of krund's group among those of version 1; "" in the root group, which
// has no rival, and where there is no such hierarchy.
func (m *Machine) shares() (file, shares string) {
	text, err := m.Root.Read("/proc/self/cgroup")
	own, _ := sysroot.ParseGroup(text, "cpu")
	if err != nil || path.Clean("/"+own) == "/" {
		return "", ""
	}
	for _, group := range []string{own, "/"} { // a container sees its own as the topmost one
		file = path.Join(groupRoot, "cpu", group, "cpu.shares")
		if shares, err = m.Root.Read(file); err == nil {
			return file, shares
		}
	}
	return "", ""
}
