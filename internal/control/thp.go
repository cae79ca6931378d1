package control

import (
	"context"

	"krund/internal/setting"
)

// THPSettings asks for a use of transparent huge pages.
type THPSettings struct {
	Policy  setting.Policy
	Enabled string // always, madvise or never
	Defrag  string // always, defer, defer+madvise, madvise or never; "" leaves it as it is
}

const (
	thpDir      = "/sys/kernel/mm/transparent_hugepage"
	minFreeFile = "/proc/sys/vm/min_free_kbytes"
)

// thp sets transparent_hugepage/enabled and, when asked to, defrag.
func thp(s THPSettings) Control {
	const none = "the kernel has no transparent huge pages"
	return Control{
		Name: "thp", Policy: s.Policy,
		targets: append(files(isWords, thpDir+"/enabled", thpDir+"/defrag"), files(isNumber, minFreeFile)...),
		Why:     "a kernel thread turns pages into huge ones at moments of its own choice",
		plan: func(ctx context.Context, m *Machine) Plan {
			p := sysfile{path: thpDir + "/enabled", want: s.Enabled, form: FormChoice, absent: none}.plan(ctx, m)
			if s.Defrag != "" {
				d := sysfile{path: thpDir + "/defrag", want: s.Defrag, form: FormChoice, absent: none}.plan(ctx, m)
				d.Found, d.Wanted = "defrag "+d.Found, "defrag "+d.Wanted
				p = both(p, d, append(p.Steps, d.Steps...))
			}
			if p.Status == setting.StatusWillSet {
				p.Steps = append(noteReserve(m), p.Steps...)
			}
			return p
		},
	}
}

// noteReserve returns a step that changes nothing and remembers vm.min_free_kbytes: the kernel computes it anew when huge pages are
// switched on or off, also over a value that somebody set by hand.
func noteReserve(m *Machine) []Step {
	text, err := m.Root.Read(minFreeFile)
	if err != nil {
		return nil
	}
	return []Step{{Kind: KindFile, Target: minFreeFile, Old: text, New: text, Optional: true}}
}
