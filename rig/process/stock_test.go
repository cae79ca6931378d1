package process

import (
	"slices"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// stock is what exists on a machine and could be left behind by an experiment, by kind: sorted
// lines.
type stock map[string][]string

// The commands that take stock. systemd's own files, the journal and the experiments' directories
// change independently; the rig creates the units' drop-ins; the machine's lock is a file in the
// runtime directory that must not be removed while another process could wait for it.
var kinds = map[string]string{
	// systemd creates and removes its own
	"control groups": "find /sys/fs/cgroup -type d | grep -vE " +
		"'/system.slice/(.*@.*\\.service|system-.*\\.slice)$'",
	"mounts": "cat /proc/mounts",
	"processes": "ps -eo user:32=,args= | grep -v '\\[.*\\]$' | grep -E '^(krun|1[0-9]{3}) " +
		"|krund|python|bench'",
	"accounts": "cat /etc/passwd /etc/group",
	"files": "find / /dev/shm /run /tmp -xdev 2>/dev/null | " +
		"grep -vE '^/(srv/krund/[a-z]+\\.krun|etc/systemd/system/krund@|run/krund|var/log|" +
		"var/lib/systemd|run/(systemd|log|udev)|var/tmp/systemd|tmp/systemd|dev)(/|$|.*\\.service\\.d)'",
	"system V objects": "tail -n +2 -q /proc/sysvipc/* | cat",
}

func takeStock(m *rig.Machine) stock {
	s := make(stock)
	for kind, command := range kinds {
		out, _ := m.Try(command)
		s[kind] = slices.Compact(slices.Sorted(slices.Values(strings.Split(out, "\n"))))
	}
	return s
}

func (s stock) compare(t *testing.T, after stock) {
	for kind, was := range s {
		for _, line := range after[kind] {
			_, there := slices.BinarySearch(was, line)
			must.Be(t, there, kind, "new", line)
		}
		for _, line := range was {
			_, there := slices.BinarySearch(after[kind], line)
			must.Be(t, there, kind, "gone", line)
		}
	}
}
