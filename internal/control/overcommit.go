package control

import (
	"context"
	"fmt"
	"strconv"

	"krund/internal/host"
	"krund/internal/setting"
)

// OvercommitSettings asks for a way of promising memory.
type OvercommitSettings struct {
	Policy setting.Policy
	Mode   int // 0 heuristic, 1 always, 2 never (the study's: an allocation that cannot be kept fails at once)
	Ratio  int // with mode 2, percent of memory that may be promised; 0 leaves it as it is
}

const (
	overcommitFile = "/proc/sys/vm/overcommit_memory"
	ratioFile      = "/proc/sys/vm/overcommit_ratio"
	kbytesFile     = "/proc/sys/vm/overcommit_kbytes" // instead of the ratio, for who has set it
)

// commitReserve is what must stay free beyond the benchmark's heap for krund and the system to work under mode 2, in bytes.
const commitReserve = 512 << 20

// overcommit sets vm.overcommit_memory. Mode 2 bounds all memory that is promised; where the system has promised more already, or the
// benchmark's heap would not fit, every allocation would fail, so the plan refuses it. heap is in bytes; noSwap says that swap, which
// counts towards the bound, will be off.
func overcommit(s OvercommitSettings, heap int64, noSwap bool) Control {
	return Control{
		Name: "overcommit", Policy: s.Policy, targets: files(isNumber, overcommitFile, ratioFile, kbytesFile),
		Why: "memory promised but not there ends in the kernel killing a process in the middle of a run",
		plan: func(ctx context.Context, m *Machine) Plan {
			mode := sysfile{path: overcommitFile, want: strconv.Itoa(s.Mode)}.plan(ctx, m)
			if s.Mode != 2 {
				return mode
			}
			memory, err := m.ReadMeminfo()
			if err != nil {
				return unreadable("2", err)
			}
			steps := mode.Steps
			if s.Ratio > 0 {
				ratio := sysfile{path: ratioFile, want: strconv.Itoa(s.Ratio), unit: " %"}.plan(ctx, m)
				mode = both(mode, ratio, append(append(ratio.Steps, noteKbytes(m, ratio)...), steps...))
			}
			return checkHeadroom(mode, memory, s.Ratio, heap, noSwap)
		},
	}
}

// noteKbytes returns a step that remembers a bound that somebody has set in KiB. Of that and the ratio the kernel knows only the one written last, and
// shows the other as 0 (docs.kernel.org, admin-guide/sysctl/vm). So it is 0 once the ratio is set, and is put back before the ratio: writing it
// makes that 0 again, where writing a ratio of 0 would leave no memory to promise.
func noteKbytes(m *Machine, ratio Plan) []Step {
	text, err := m.Root.Read(kbytesFile)
	if err != nil || text == "0" || ratio.Status != setting.StatusWillSet {
		return nil
	}
	return []Step{{Kind: KindFile, Target: kbytesFile, Old: text, New: "0"}}
}

// commitLimit returns how much memory may be promised under mode 2, in bytes (docs.kernel.org, mm/overcommit-accounting): ratio percent
// of memory that is not set aside for huge pages, and all of swap. ratio 0 means the one in force, from which the kernel computes
// CommitLimit itself.
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
	return cannot(p.Found, p.Wanted, fmt.Sprintf("mode 2 would leave too little: %s promised, %s for the benchmark's heap and %s in reserve, of at most %s",
		mib(promised), mib(heap), mib(commitReserve), mib(limit)), fix)
}

// ratioFor returns the smallest ratio, in percent, under which need bytes may be promised; more than 100 when none is enough.
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
