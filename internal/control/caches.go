package control

import (
	"context"
	"strings"

	"krund/internal/experiment/config/setting"
)

const (
	dropCachesFile    = "/proc/sys/vm/drop_caches"
	compactMemoryFile = "/proc/sys/vm/compact_memory"
)

// caches empties the kernel's caches and compacts memory (fs/drop_caches.c of Linux 6.12:51,
// mm/compaction.c of 6.12:2981). Both files can only be written (kernel/sysctl.c of 6.1:2213), and
// nothing remains of the writes that could be restored.
var caches = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "caches", Policy: setting.Off,
		Brief: "caches are emptied and memory is compacted before a run",
		Why: "what ran before decides which files are in memory and how fragmented it is, and so how " +
			"fast a program starts and which huge pages it gets",
		Options: []setting.Option{
			{Name: "drop", Default: true, Doc: "drop clean pages of files, and directory entries"},
			{Name: "compact", Default: true, Doc: "move used memory together"},
		},
		What: "`vm.drop_caches` = 3, `vm.compact_memory` = 1",
		Notes: "the program's own files are read from the disk again, which its start-up time includes. " +
			"There is nothing to restore",
	},
	targets: []target{{kind: KindOnce, name: is(dropCachesFile), values: from(is(""))},
		{kind: KindOnce, name: is(compactMemoryFile), values: from(is(""))}},
	plan: planCaches,
}

func planCaches(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	var steps []Step
	var wanted, absent []string
	for _, w := range []struct {
		asked             bool
		file, value, what string
	}{{d.Flag("drop"), dropCachesFile, "3", "empty caches"},
		{d.Flag("compact"), compactMemoryFile, "1", "compact memory"}} {
		if !w.asked {
			continue
		}
		wanted = append(wanted, w.what)
		if !m.Root.Exists(w.file) {
			absent = append(absent, w.file)
			continue
		}
		// Optional: what was done once need not be found again.
		steps = append(steps, Step{Kind: KindOnce, Target: w.file, New: w.value, Optional: true})
	}
	want := strings.Join(wanted, ", ")
	switch {
	case len(wanted) == 0:
		return ok("not asked for", want)
	case len(absent) > 0:
		return cannot("unknown", want, "this kernel has no "+strings.Join(absent, " and no "), "")
	}
	return willSet("as the last program left them", want, steps...)
}

// onceApplier writes to a file that makes the kernel do something once.
type onceApplier struct{ m *Machine }

func (a onceApplier) do(_ context.Context, s Step) (string, error) {
	return s.New, a.m.Root.Write(s.Target, s.New)
}

func (a onceApplier) restore(context.Context, Step) (Restoration, error) { return Already, nil }
