package autostart_test

import (
	"path/filepath"
	"testing"

	"krund/internal/boot/autostart"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestInUnit has the lines of real machines: systemd 252 and 257 with control groups of version 2,
// and systemd 247 with both versions.
func TestInUnit(t *testing.T) {
	const unit = `krund@a\x2b-b.service`
	for _, test := range []struct {
		name, unit, cgroup string
		want               bool
	}{
		{"the unit", unit, "0::/system.slice/system-krund.slice/" + unit + "\n", true},
		{"a group below it", unit, "0::/system.slice/system-krund.slice/" + unit + "/krund-01234567\n", true},
		{"version 1", unit, "12:cpuset:/\n1:name=systemd:/system.slice/system-krund.slice/" + unit +
			"\n0::/system.slice\n", true},
		{"another unit", "krund@a.service", "0::/system.slice/system-krund.slice/" + unit + "\n", false},
		{"a name that begins the same", "krund@a", "0::/system.slice/krund@ab.service\n", false},
		{"a shell", unit, "0::/user.slice/user-1000.slice/session-3.scope\n", false},
		{"a shell, and no unit", "", "0::/user.slice/user-1000.slice/session-3.scope\n", false},
		{"a container", unit, "0::/\n", false},
		{"a container, and no unit", "", "0::/\n", false},
		{"a controller of that name", unit, "3:" + unit + ":/\n", false},
		{"nothing", unit, "", false},
		{"no colons", unit, unit + "\n", false},
	} {
		root := t.TempDir()
		must.Write(t, filepath.Join(root, "proc/self/cgroup"), test.cgroup)
		must.Equal(t, autostart.InUnit(test.unit, sysroot.New(root)), test.want, test.name)
	}
	must.Be(t, !autostart.InUnit("krund@a.service", sysroot.New(t.TempDir())),
		"without /proc a process is in a unit")
}
