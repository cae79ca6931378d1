package control

import (
	"context"
	"fmt"
	"math/bits"
	"path"
	"regexp"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

const (
	resctrlDir   = "/sys/fs/resctrl"
	resctrlGroup = resctrlDir + "/krund"
	resctrlInfo  = resctrlDir + "/info/L3"
)

// cacheWays divides the last-level cache between the benchmark's CPUs and the others
// (docs.kernel.org, arch/x86/resctrl, "Cache Allocation Technology"). The CPUs of benchmarks form a
// group with the lower ways; the other CPUs keep the upper ones, which devices use, too, on Intel
// servers (shareable_bits). A mask must be consecutive (cbm_validate in
// arch/x86/kernel/cpu/resctrl/ctrlmondata.c of Linux 6.1:101, 6.12:105). Removing the group returns
// its CPUs to the others (rdtgroup_rmdir_ctrl in rdtgroup.c of 6.1:3179, 6.12:3736).
var cacheWays = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "cache_ways", Policy: setting.Off,
		Brief: "the benchmark has its part of the last-level cache to itself",
		Why:   "what runs on other CPUs evicts the benchmark's data from the cache that all share",
		Options: []setting.Option{{
			Name: "others", Default: int64(2), Min: 1, Max: 63, Doc: "ways of the cache for the other CPUs",
		}},
		What: "`/sys/fs/resctrl/krund` with the benchmark CPUs; L3 in `schemata`",
		Notes: "the file system must be mounted before: `mount -t resctrl resctrl /sys/fs/resctrl`. The " +
			"benchmark has fewer ways than without this setting",
	},
	targets: []target{
		{kind: KindGroup, name: is(resctrlGroup), values: from(is("absent"))},
		{kind: KindFile, name: is(resctrlGroup + "/schemata"), values: from(isWays)},
		{kind: KindFile, name: is(resctrlGroup + "/cpus_list"), values: from(isCPUList)},
		{kind: KindFile, name: is(resctrlDir + "/schemata"), values: from(isWays)},
	},
	plan: func(_ context.Context, m *Machine, d setting.Demand, r Request) Plan {
		cpus, _, err := m.PlannedCPUs(r)
		if err != nil {
			return cannot("unknown", "divided", err.Error(), "")
		}
		return planWays(m, cpus, int(d.Whole("others")))
	},
}

var waysForm = regexp.MustCompile(`^L3:[0-9]{1,9}=[0-9a-f]{1,16}(;[0-9]{1,9}=[0-9a-f]{1,16})*$`)

// isWays reports whether a text is the masks of all caches, as showWays returns them.
func isWays(text string) bool { return waysForm.MatchString(text) }

// showWays returns the masks of the last-level caches in a schemata file, without padding:
// "L3:0=7ff;1=7ff" (show_doms in ctrlmondata.c of Linux 6.12:447). It returns the text if there are
// none.
func showWays(text string) string {
	for line := range strings.Lines(text) {
		masks, found := strings.CutPrefix(strings.TrimSpace(line), "L3:")
		if !found {
			continue
		}
		var list []string
		for one := range strings.SplitSeq(masks, ";") {
			id, mask, _ := strings.Cut(one, "=")
			n, err := strconv.ParseUint(mask, 16, 64)
			if err != nil {
				return text
			}
			list = append(list, fmt.Sprintf("%s=%x", strings.TrimSpace(id), n))
		}
		return "L3:" + strings.Join(list, ";")
	}
	return text
}

// withWays returns the text with another mask for every cache.
func withWays(ways string, mask uint64) string {
	return regexp.MustCompile("=[0-9a-f]+").ReplaceAllString(ways, fmt.Sprintf("=%x", mask))
}

// planWays gives the other CPUs a number of ways.
func planWays(m *Machine, cpus host.CPUs, others int) Plan {
	wanted := fmt.Sprintf("CPU %s apart from %d ways", cpus, others)
	text, err := m.Root.Read(resctrlDir + "/schemata")
	if err != nil {
		return cannot("not mounted", wanted, err.Error(), "run `mount -t resctrl resctrl "+resctrlDir+
			"`; without that file system the processor or the kernel cannot divide the cache")
	}
	now := showWays(text)
	if !isWays(now) {
		return cannot("no L3", wanted, "schemata has no L3: "+clip(text), "mount it without the option cdp")
	}
	groups, err := m.Root.Glob(resctrlDir + "/*/schemata")
	if err != nil {
		return unreadable(wanted, err)
	}
	for _, file := range groups {
		if path.Dir(file) != resctrlGroup {
			return cannot(now, wanted, "the cache is already divided: "+path.Dir(file), "remove that group")
		}
	}
	own, rest, err := divideWays(m, others)
	if err != nil {
		return cannot(now, wanted, err.Error(), "")
	}
	steps := waysSteps(m, now, withWays(now, own), withWays(now, rest), cpus)
	return willSet(now, wanted, steps...)
}

// divideWays returns the masks of the benchmark and of the other CPUs.
func divideWays(m *Machine, others int) (own, rest uint64, err error) {
	text, err := m.Root.Read(resctrlInfo + "/cbm_mask")
	if err != nil {
		return 0, 0, err
	}
	all, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("read %s/cbm_mask: %q is not a mask", resctrlInfo, clip(text))
	}
	least, err := m.Root.ReadInt(resctrlInfo + "/min_cbm_bits")
	if err != nil {
		return 0, 0, err
	}
	ways := bits.Len64(all)
	if int64(others) < least || int64(ways-others) < least {
		return 0, 0, fmt.Errorf("the cache has %d ways, and each part needs %d or more", ways, least)
	}
	own = 1<<(ways-others) - 1
	return own, all &^ own, nil
}

// waysSteps returns what is left to do. The group starts with all ways and no CPU.
func waysSteps(m *Machine, now, own, rest string, cpus host.CPUs) []Step {
	var steps []Step
	before := now // in the group
	if !m.Root.Exists(resctrlGroup) {
		steps = append(steps, Step{Kind: KindGroup, Target: resctrlGroup, Old: "absent", New: "present"})
	} else if text, err := m.Root.Read(resctrlGroup + "/schemata"); err == nil {
		before = showWays(text)
	}
	if before != own {
		steps = append(steps, Step{Kind: KindFile, Target: resctrlGroup + "/schemata", Old: before, New: own,
			Form: FormWays})
	}
	if has, _ := m.Root.Read(resctrlGroup + "/cpus_list"); has != cpus.String() {
		steps = append(steps, Step{Kind: KindFile, Target: resctrlGroup + "/cpus_list", Old: has,
			New: cpus.String(), Form: FormCPUList})
	}
	if now != rest {
		steps = append(steps, Step{Kind: KindFile, Target: resctrlDir + "/schemata", Old: now, New: rest,
			Form: FormWays})
	}
	return steps
}
