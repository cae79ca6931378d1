package control

import (
	"context"

	"krund/internal/experiment/config/setting"
)

const ksmFile = "/sys/kernel/mm/ksm/run"

// ksm sets /sys/kernel/mm/ksm/run: 0 stops merging and keeps what is merged, 2 splits merged pages
// as well (docs.kernel.org, admin-guide/mm/ksm).
var ksm = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "ksm", Policy: setting.Off,
		Brief: "no merging of identical pages",
		Why:   "a kernel thread scans memory for identical pages, and a write to a merged page faults",
		Options: []setting.Option{{
			Name: "unmerge", Default: false,
			Doc: "split merged pages at once instead of at their next write",
		}},
		What: "`/sys/kernel/mm/ksm/run` = 0, or 2",
	},
	targets: files(isNumber, ksmFile),
	plan: func(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
		file := sysfile{path: ksmFile, want: "0", absent: "the kernel does not merge pages"}
		if d.Flag("unmerge") {
			file.want = "2"
		}
		p := file.plan(ctx, m)
		if p.Found == "2" && file.want == "0" {
			return ok("2", "0") // stopped, and nothing is merged: better than asked for
		}
		return p
	},
}
