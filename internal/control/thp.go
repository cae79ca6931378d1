package control

import (
	"context"
	"path"
	"strings"

	"krund/internal/experiment/config/setting"
)

const (
	thpDir      = "/sys/kernel/mm/transparent_hugepage"
	minFreeFile = "/proc/sys/vm/min_free_kbytes"
)

// thp sets transparent_hugepage/enabled and, when asked to, defrag.
var thp = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "thp", Policy: setting.Off,
		Brief: "transparent huge pages as configured",
		Why:   "a kernel thread merges pages into huge pages at unpredictable times",
		Options: []setting.Option{
			{Name: "enabled", Default: "never", Choices: []string{"always", "madvise", "never"},
				Doc: "when they are used"},
			{
				Name: "defrag", Default: "",
				Choices: []string{"", "always", "defer", "defer+madvise", "madvise", "never"},
				Doc:     "when memory is compacted for them; `\"\"` leaves it unchanged",
			},
		},
		What: "`transparent_hugepage/enabled`, `defrag`; with `never` also the switch of each size, " +
			"`hugepages-*kB/enabled`",
		Notes: "the kernel recomputes `vm.min_free_kbytes`; that is restored too",
	},
	targets: append(files(isWords, thpDir+"/enabled", thpDir+"/defrag", thpDir+"/hugepages-*kB/enabled"),
		files(isNumber, minFreeFile)...),
	plan: planTHP,
}

// planTHP leaves defrag unchanged if it is "".
func planTHP(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	enabled, defrag := d.Text("enabled"), d.Text("defrag")
	const none = "the kernel has no transparent huge pages"
	p := sysfile{path: thpDir + "/enabled", want: enabled, form: FormChoice, absent: none}.plan(ctx, m)
	if defrag != "" {
		d := sysfile{path: thpDir + "/defrag", want: defrag, form: FormChoice, absent: none}.plan(ctx, m)
		d.Found, d.Wanted = "defrag "+d.Found, "defrag "+d.Wanted
		p = both(p, d, append(p.Steps, d.Steps...))
	}
	if enabled == "never" && p.Status != setting.StatusCannot {
		p = planSizes(ctx, m, p)
	}
	if p.Status == setting.StatusWillSet {
		// The kernel recomputes vm.min_free_kbytes when huge pages are switched on or off, which
		// also overwrites a value set by hand.
		p.Steps = append(noteFile(m, minFreeFile), p.Steps...)
	}
	return p
}

// planSizes adds the sizes that are used whatever the switch of all says: since Linux 6.8 each has
// its own, of which only "inherit" looks at the other (include/linux/huge_mm.h:299-311 of 6.12).
func planSizes(ctx context.Context, m *Machine, p Plan) Plan {
	files, err := m.Root.Glob(thpDir + "/hugepages-*kB/enabled")
	if err != nil {
		return p
	}
	for _, file := range files {
		one := sysfile{path: file, want: "never", form: FormChoice}.plan(ctx, m)
		if one.Status != setting.StatusWillSet || one.Found == "inherit" {
			continue
		}
		size := strings.TrimPrefix(path.Base(path.Dir(file)), "hugepages-")
		p.Found, p.Status = p.Found+", "+size+" "+one.Found, setting.StatusWillSet
		p.Steps = append(p.Steps, one.Steps...)
	}
	return p
}
