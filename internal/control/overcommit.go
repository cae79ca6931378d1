package control

import (
	"context"
	"fmt"
	"strconv"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

const (
	overcommitFile = "/proc/sys/vm/overcommit_memory"
	ratioFile      = "/proc/sys/vm/overcommit_ratio"
	kbytesFile     = "/proc/sys/vm/overcommit_kbytes" // replaces the ratio if set
)

// commitReserve is the memory in bytes that must remain available beyond the benchmark's heap for
// krund and the system to work under mode 2.
const commitReserve = 512 << 20

// overcommit sets vm.overcommit_memory. Mode 2 limits the memory that is committed. If the system
// has already committed more, or the benchmark's heap would not fit, every allocation would fail,
// so the plan rejects mode 2. Swap counts toward the limit unless it is going to be switched off.
var overcommit = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "overcommit", Policy: setting.Require,
		Brief: "no more memory committed than available",
		Why: "if more memory is committed than available, the kernel may kill a process in the middle " +
			"of a run",
		Options: []setting.Option{
			{
				Name: "mode", Default: int64(2), Max: 2,
				Doc: "0 heuristic, 1 always overcommit, 2 never overcommit, so that an allocation that " +
					"cannot be satisfied fails at once (Krun)",
			},
			{
				Name: "ratio", Default: int64(0), Max: 1000,
				Doc: "with mode 2, percent of the memory that may be committed; 0 leaves it unchanged",
			},
		},
		What: "`vm.overcommit_memory` = 2, and `vm.overcommit_ratio` if `ratio` is set",
		Notes: "not applied if more memory is committed already than the new limit allows, or if the " +
			"benchmark's heap limit would not fit: then every `fork` on the machine would fail. The row " +
			"names a sufficient ratio. A limit in `vm.overcommit_kbytes`, which the kernel drops when " +
			"the ratio is set, is restored",
	},
	targets: files(isNumber, overcommitFile, ratioFile, kbytesFile),
	plan:    planOvercommit,
}

// planOvercommit leaves the ratio unchanged if it is 0.
func planOvercommit(ctx context.Context, m *Machine, d setting.Demand, r Request) Plan {
	mode, ratio := int(d.Whole("mode")), int(d.Whole("ratio"))
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
	return checkHeadroom(p, memory, ratio, r.Heap, r.Of("swap").Policy.Changes())
}

// noteKbytes returns a step that records a limit that was set in KiB. Of that limit and the ratio
// the kernel keeps only the one written last, and shows the other as 0 (docs.kernel.org,
// admin-guide/sysctl/vm). So the limit reads as 0 once the ratio is set. It is restored before the
// ratio: writing it resets the ratio to 0, whereas writing a ratio of 0 would leave no memory to
// commit.
func noteKbytes(m *Machine, ratio Plan) []Step {
	text, err := m.Root.Read(kbytesFile)
	if err != nil || text == "0" || ratio.Status != setting.StatusWillSet {
		return nil
	}
	return []Step{{Kind: KindFile, Target: kbytesFile, Old: text, New: "0"}}
}

// commitLimit returns how much memory may be committed under mode 2, in bytes (docs.kernel.org,
// mm/overcommit-accounting): ratio percent of the memory that is not reserved for huge pages, plus
// all of swap. ratio 0 means the current ratio, from which the kernel computes CommitLimit.
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

// checkHeadroom rejects a plan for mode 2 if the committed memory would not fit.
func checkHeadroom(p Plan, m host.Meminfo, ratio int, heap int64, noSwap bool) Plan {
	limit, committed := commitLimit(m, ratio, noSwap), m["Committed_AS"]
	need := committed + heap + commitReserve
	p.Detail = join(p.Detail, fmt.Sprintf("%s committed of at most %s", mib(committed), mib(limit)), "; ")
	if limit >= need {
		return p
	}
	fix := "lower the heap limit, or stop services that hold memory"
	if percent := ratioFor(m, need, noSwap); percent <= 95 {
		fix = fmt.Sprintf(`set overcommit = { policy = "require", ratio = %d } in [controls]`, percent)
	}
	full := cannot(p.Found, p.Wanted, fmt.Sprintf("mode 2 would leave too little memory: %s committed, %s "+
		"for the benchmark's heap and %s in reserve, of at most %s",
		mib(committed), mib(heap), mib(commitReserve), mib(limit)), fix)
	full.InForce = p.Status == setting.StatusOK // another program has committed memory since
	return full
}

// ratioFor returns the smallest ratio, in percent, under which need bytes may be committed; more
// than 100 if none is sufficient.
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
