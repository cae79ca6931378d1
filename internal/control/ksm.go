package control

import (
	"context"

	"krund/internal/setting"
)

// KSMSettings asks for the merging of equal memory pages to stop.
type KSMSettings struct {
	Policy  setting.Policy
	Unmerge bool // also part the pages that are merged already, instead of at their next write in the middle of a run
}

// ksm sets /sys/kernel/mm/ksm/run: 0 stops merging and keeps what is merged, 2 parts merged pages as well (docs.kernel.org,
// admin-guide/mm/ksm).
func ksm(s KSMSettings) Control {
	want := "0"
	if s.Unmerge {
		want = "2"
	}
	file := sysfile{path: "/sys/kernel/mm/ksm/run", want: want, absent: "the kernel merges no pages"}
	return Control{
		Name: "ksm", Policy: s.Policy, targets: files(isNumber, file.path),
		Why: "a kernel thread scans memory for equal pages, and a write to a merged page takes a fault",
		plan: func(ctx context.Context, m *Machine) Plan {
			p := file.plan(ctx, m)
			if p.Found == "2" && want == "0" {
				return ok("2", "0") // stopped, and nothing is merged: better than asked for
			}
			return p
		},
	}
}
