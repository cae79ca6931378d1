package control

import "krund/internal/setting"

// WritebackSettings asks for the periodic writing of dirty pages to pause.
type WritebackSettings struct{ Policy setting.Policy }

// writeback sets vm.dirty_writeback_centisecs to 0: the kernel's flusher threads no longer wake by themselves. Only for the time of a run:
// krund syncs the disks before it, and sync(2) works as ever.
func writeback(s WritebackSettings) Control {
	const file = "/proc/sys/vm/dirty_writeback_centisecs"
	return Control{
		Name: "writeback", Policy: s.Policy, targets: files(isNumber, file),
		Why:  "flusher threads wake every five seconds to write dirty pages to the disk",
		plan: sysfile{path: file, want: "0"}.plan,
	}
}
