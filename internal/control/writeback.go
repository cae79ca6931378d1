package control

import "krund/internal/config/setting"

const writebackFile = "/proc/sys/vm/dirty_writeback_centisecs"

// writeback sets vm.dirty_writeback_centisecs to 0: the kernel's flusher threads no longer wake by
// themselves while measuring. krund syncs the disks before a run, and sync(2) still works.
var writeback = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "writeback", Policy: setting.Off,
		Brief: "no periodic writeback of dirty pages while measuring",
		Why:   "flusher threads wake every five seconds to write dirty pages to the disk",
		What:  "`vm.dirty_writeback_centisecs` = 0",
		Notes: "krund syncs the disks before a run; `sync` still works",
	},
	targets: files(isNumber, writebackFile),
	plan:    fixed(sysfile{path: writebackFile, want: "0"}.plan),
}
