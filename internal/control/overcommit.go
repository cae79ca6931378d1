package control

import (
	"context"
	"fmt"
	"strconv"

	"krund/internal/config/setting"
	"krund/internal/host"
)

const (
	overcommitFile = "/proc/sys/vm/overcommit_memory"
	ratioFile      = "/proc/sys/vm/overcommit_ratio"
	kbytesFile     = "/proc/sys/vm/overcommit_kbytes" // instead of the ratio, for who has set it
)

// commitReserve is what must stay free beyond the benchmark's heap for krund and the system to work
// under mode 2, in bytes.
const commitReserve = 512 << 20

// overcommit sets vm.overcommit_memory. Mode 2 bounds all memory that is promised; where the system
// has promised more already, or the benchmark's heap would not fit, every allocation would fail, so
// the plan refuses it. Swap counts towards the bound unless it is going to be off.
var overcommit = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "overcommit", Policy: setting.Require,
		Brief: "no more memory promised than there is",
		Why:   "memory promised but not there ends in the kernel killing a process in the middle of a run",
		Options: []setting.Option{
			{
				Name: "mode", Default: int64(2), Max: 2,
				Doc: "0 heuristic, 1 always overcommit, 2 never promise more than there is, so that an " +
					"allocation " +
					"that cannot be satisfied fails at once (Krun)",
			},
			{
				Name: "ratio", Default: int64(0), Max: 1000,
				Doc: "with mode 2, percent of the memory that may be promised; 0 leaves it unchanged",
			},
		},
		What: "`vm.overcommit_memory` = 2, and `vm.overcommit_ratio` when asked to",
		Notes: "refused when more is promised already than the new bound allows, or the heap limit of the " +
			"benchmark would not fit: then every `fork` on the machine would fail. The row says which " +
			"ratio " +
			"would do. A bound in `vm.overcommit_kbytes`, which the kernel forgets for the ratio, is " +
			"restored",
	},
	targets: files(isNumber, overcommitFile, ratioFile, kbytesFile),
	plan: func(d setting.Demand, r Request) planner {
		mode, ratio := int(d.Whole("mode")), int(d.Whole("ratio"))
		noSwap := r.Of("swap").Policy.Changes()
		return func(ctx context.Context, m *Machine) Plan {
			return planOvercommit(ctx, m, mode, ratio,
				r.Heap, noSwap)
		}
	},
}

// planOvercommit leaves the ratio as it is when it is 0. heap is in bytes.
func planOvercommit(ctx context.Context, m *Machine, mode, ratio int, heap int64, noSwap bool) Plan {
	p := sysfile{path: overcommitFile, want: strconv.Itoa(mode)}.plan(ctx, m)
	if mode != 2 {
		return p
	}
	memory, err := m.ReadMeminfo()
	if err != nil {
		return unreadable("2", err)
	}
	steps := p.Steps
	if ratio > 0 {
		q := sysfile{path: ratioFile, want: strconv.Itoa(ratio), unit: " %"}.plan(ctx, m)
		p = both(p, q, append(append(q.Steps, noteKbytes(m, q)...), steps...))
	}
	return checkHeadroom(p, memory, ratio, heap, noSwap)
}

// noteKbytes returns a step that remembers a bound that somebody has set in KiB. Of that and the
// ratio the kernel knows only the one written last, and shows the other as 0 (docs.kernel.org,
// admin-guide/sysctl/vm). So it is 0 once the ratio is set, and is put back before the ratio:
// writing it makes that 0 again, where writing a ratio of 0 would leave no memory to promise.
func noteKbytes(m *Machine, ratio Plan) []Step {
	text, err := m.Root.Read(kbytesFile)
	if err != nil || text == "0" || ratio.Status != setting.StatusWillSet {
		return nil
	}
	return []Step{{Kind: KindFile, Target: kbytesFile, Old: text, New: "0"}}
}

// commitLimit returns how much memory may be promised under mode 2, in bytes (docs.kernel.org,
// mm/overcommit-accounting): ratio percent of memory that is not set aside for huge pages, and all
// of swap. ratio 0 means the one in force, from which the kernel computes CommitLimit itself.
func commitLimit(m host.Meminfo, ratio int, noSwap bool) int64 {
	limit := m["CommitLimit"] - m["SwapTotal"]
	if ratio > 0 {
		limit = m.Ordinary() / 100 * int64(ratio)
	}
	if !noSwap {
		limit += m["SwapTotal"]
	}
	return limit
}

// checkHeadroom turns a plan for mode 2 into one that refuses it when the promises would not fit.
func checkHeadroom(p Plan, m host.Meminfo, ratio int, heap int64, noSwap bool) Plan {
	limit, promised := commitLimit(m, ratio, noSwap), m["Committed_AS"]
	need := promised + heap + commitReserve
	p.Detail = join(p.Detail, fmt.Sprintf("%s promised of at most %s", mib(promised), mib(limit)), "; ")
	if limit >= need {
		return p
	}
	fix := "lower the heap limit, or stop services that hold memory"
	if percent := ratioFor(m, need, noSwap); percent <= 95 {
		fix = fmt.Sprintf(`set overcommit = { policy = "require", ratio = %d } in [controls]`, percent)
	}
	return cannot(p.Found, p.Wanted, fmt.Sprintf("mode 2 would leave too little: %s promised, %s for the "+
		"benchmark's heap and %s in reserve, of at most %s",
		mib(promised), mib(heap), mib(commitReserve), mib(limit)), fix)
}

// ratioFor returns the smallest ratio, in percent, under which need bytes may be promised; more
// than 100 when none is enough.
func ratioFor(m host.Meminfo, need int64, noSwap bool) int64 {
	if !noSwap {
		need -= m["SwapTotal"]
	}
	hundredth := m.Ordinary() / 100
	if hundredth <= 0 {
		return 1000
	}
	return (need + hundredth - 1) / hundredth
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
