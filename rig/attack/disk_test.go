package attack

import (
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// dies makes a file system fail every access from now on, like one whose disk is gone:
// EXT4_IOC_SHUTDOWN of fs/ext4/ext4.h in the kernel, with EXT4_GOING_FLAGS_NOLOGFLUSH.
const dies = `import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(fd, 0x8004587D, struct.pack("I", 2))
`

// TestDeadFileSystem: the file system of the experiment fails, and then krund is killed. Its guard
// restores the machine, and so does the unit.
func TestDeadFileSystem(t *testing.T) {
	rig.Long(t, "the short selection has three attacks")
	var files rig.Payload
	files.Held()
	files.Script("/usr/local/rig/dies.py", dies)
	files.Text("/srv/x.toml", strings.Replace(held("", ""), "[experiment]\n",
		"[experiment]\nbenchmarks = \"/srv/krund/benchmarks\"\n", 1))
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Devices: rig.SmallDisk(t, "small", 48)})
	m.PowerOn()
	m.WaitUp()
	before := m.Sh("cat " + statInterval)
	const mount = `mkdir -p /mnt/small; for d in /sys/block/vd*; do [ "$(cat $d/serial)" = small ] && mount /dev/${d##*/} /mnt/small; done; ` +
		"mountpoint /mnt/small && rm -rf /mnt/small/x.krun"
	m.Sh(mount)
	m.Hold()
	krund := m.Start("krund run --directory /mnt/small/x.krun /srv/x.toml")
	m.WaitHeld()
	setting(m, changed)
	m.Sh("sync; python3 /usr/local/rig/dies.py /mnt/small")
	if out, status := m.Try("touch /mnt/small/new"); status == 0 {
		t.Fatalf("the file system still works: %s", out)
	}
	krund.Kill()
	setting(m, before)
	m.LetGo()
	m.WaitNoKrund()
	if out := m.Sh("ls -A /run/krund"); strings.Contains(out, "journal") {
		t.Errorf("a copy of the journal stays after everything was restored: %s", out)
	}

	// Now the guard and krund are killed together, as systemd does.
	m.Sh("umount /mnt/small && " + mount)
	m.Hold()
	krund = m.Start("krund run --directory /mnt/small/x.krun /srv/x.toml")
	m.WaitHeld()
	setting(m, changed)
	m.Sh("sync; python3 /usr/local/rig/dies.py /mnt/small")
	m.KillKrund(krund)
	setting(m, changed)
	out, status := m.Try("krunctl repair --machine /mnt/small/x.krun")
	must.Be(t, status == 1 && strings.Contains(out, "restored"), "krunctl repair --machine: status", status,
		out)
	setting(m, before)
}
