package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// placement binds a benchmark to processors that are alike and near each other, without a control
// group: which kind of core, socket or last-level cache a benchmark runs on is otherwise chosen
// anew in each execution.
var placement = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "placement", Policy: setting.Apply,
		Brief: "the benchmark on one kind of core, one memory node and one last-level cache",
		Why: "an execution on an efficient core, or away from its memory, takes up to twice as long, " +
			"and the scheduler chooses anew each time",
		What: "sched_setaffinity(2) of the benchmark: the performance cores without the lowest CPU, of " +
			"the memory node with the most of them, of the last-level cache with at least 4 of them",
		Notes: "with `shield` its processors are the benchmark's, and the row says if they are not one " +
			"set. A set of one processor binds nothing: the threads of a VM would share it. \"off\" lets " +
			"the benchmark run anywhere",
	},
	plan: planPlacement,
}

func planPlacement(_ context.Context, m *Machine, d setting.Demand, r Request) Plan {
	cpus, online, err := m.PlannedCPUs(r)
	if errors.Is(err, fs.ErrNotExist) {
		return ok("unknown", "one set")
	}
	if err != nil {
		return unreadable("one set", err)
	}
	shielded := r.Of("shield").Policy.Changes()
	usable := online
	if shielded {
		usable = cpus
	}
	best := m.oneSet(cpus, online)
	wanted := "CPU " + best.String()
	found := "CPU " + usable.String() + spans(m.Host, usable)
	switch {
	case len(best) < leastSet || shielded && spans(m.Host, cpus) == "":
		if len(best) >= leastSet || shielded {
			return ok(found, "one set")
		}
		if len(online) == 1 {
			return ok(found, "one set", "krund may use no other processor")
		}
		return ok(found, "one set", fmt.Sprintf("not bound: CPU %s alone is too few for the threads of a VM",
			best))
	case shielded && !best.Equal(cpus) && spans(m.Host, cpus) != "":
		return cannot(found, wanted, "", fmt.Sprintf(`set shield = { policy = %q, cpus = "%s" } in [controls]`,
			r.Of("shield").Policy, best))
	case shielded || d.Policy.Changes():
		p := ok(found, wanted)
		if !shielded {
			p.Detail = "the benchmark is bound to " + wanted
		}
		return p
	}
	if best.Equal(usable) {
		return ok(found, wanted)
	}
	return cannot(found, wanted, "", `set placement = "apply" in [controls]`)
}

// leastSet is the least number of processors to bind a benchmark to, and leastCache that of a
// last-level cache to prefer to its whole node.
const (
	leastSet   = 2
	leastCache = 4
)

// oneSet returns the members of cpus in the memory node with most of them, and of these the ones in
// the last-level cache with most, if that is leastCache.
func (m *Machine) oneSet(cpus, online host.CPUs) host.CPUs {
	set := most(cpus, nodesOf(m.Host))
	if fast := online.And(m.FastCPUs()); len(set) < leastSet && len(fast) >= leastSet {
		set = fast // with the lowest: better than another kind
	}
	if cache := most(set, cachesOf(m.Host, set)); len(cache) >= leastCache {
		set = cache
	}
	return set
}

// most returns the members of cpus in the group that has most of them, all without groups.
func most(cpus host.CPUs, groups []host.CPUs) host.CPUs {
	var best host.CPUs
	for _, g := range groups {
		if in := cpus.And(g); len(in) > len(best) {
			best = in
		}
	}
	if len(best) == 0 {
		return cpus
	}
	return best
}

// nodesOf returns the CPUs of each memory node.
func nodesOf(h host.Host) []host.CPUs {
	return listsOf(h, "/sys/devices/system/node/node[0-9]*/cpulist")
}

// kindsOf returns the CPUs of each kind of core of a hybrid x86 processor.
func kindsOf(h host.Host) []host.CPUs { return listsOf(h, "/sys/devices/cpu_*/cpus") }

// listsOf reads the sets of CPUs in files; it skips those that cannot be read.
func listsOf(h host.Host, pattern string) []host.CPUs {
	files, _ := h.Root.Glob(pattern) // the pattern is valid
	var list []host.CPUs
	for _, file := range files {
		if set, err := h.ReadCPUs(file); err == nil {
			list = append(list, set)
		}
	}
	return list
}

// cachesOf returns the CPUs that share a last-level cache with one of these.
func cachesOf(h host.Host, cpus host.CPUs) []host.CPUs {
	var groups []host.CPUs
	seen := host.CPUs{}
	for _, cpu := range cpus {
		shared, err := h.ReadCPUs(fmt.Sprintf(
			"/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu))
		if err == nil && !seen.Contains(host.CPUs{cpu}) {
			groups, seen = append(groups, shared), seen.Plus(shared)
		}
	}
	return groups
}

// spans names what a set of CPUs goes across: " of 2 kinds of core, 8 memory nodes"; "" if nothing.
func spans(h host.Host, cpus host.CPUs) string {
	var parts []string
	for _, s := range []struct {
		name   string
		groups []host.CPUs
	}{{"core kind", kindsOf(h)}, {"memory node", nodesOf(h)}, {"last-level cache", cachesOf(h, cpus)}} {
		n := 0
		for _, g := range s.groups {
			if len(cpus.And(g)) > 0 {
				n++
			}
		}
		if n > 1 {
			parts = append(parts, display.Count(n, s.name))
		}
	}
	if fast := h.FastCPUs(); len(kindsOf(h)) == 0 && len(fast) > 0 && !fast.Contains(cpus) {
		parts = append([]string{"cores of different speed"}, parts...)
	}
	if len(parts) == 0 {
		return ""
	}
	return " of " + strings.Join(parts, ", ")
}
