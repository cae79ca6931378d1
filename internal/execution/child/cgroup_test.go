package child

import (
	"testing"

	"krund/rig/must"
)

func TestGroupMount(t *testing.T) {
	for name, c := range map[string]struct{ text, dir, root string }{
		"systemd": {"30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			"/sys/fs/cgroup", "/"},
		"hybrid": {"30 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n41 31 0:38 / " +
			"/sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified", "/"},
		"container": {"9 8 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/sys/fs/cgroup",
			"/docker/abc"},
		"escapes": {`9 8 0:26 / /a\040b\134c rw - cgroup2 cgroup rw` + "\n", `/a b\c`, "/"},
	} {
		dir, root, err := groupMount([]byte(c.text))
		must.Be(t, err == nil && dir == c.dir && root == c.root, name, dir, root, err)
	}
	for _, text := range []string{"", "\n", " - cgroup2 ",
		"30 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "1 2 3 - cgroup2 x\n"} {
		dir, _, err := groupMount([]byte(text))
		must.Be(t, err != nil, text, "got", dir)
	}
}

func TestGroupName(t *testing.T) {
	for _, c := range []struct{ own, want, name string }{
		{"/", "bench", "/bench"},
		{"/system.slice/krund@x.service", "bench", "/system.slice/krund@x.service/bench"},
		{"/system.slice/krund@x.service", "/bench.slice/run", "/bench.slice/run"},
		{"/a", "/ab", "/ab"},
		{"/", "", ""}, {"/", "/", ""}, {"/", "a/../b", ""}, {"/", "a//b", ""}, {"/", "./a", ""}, {"/", "a/",
			""},
		{"/a/b", "/a", ""}, {"/a/b", "/a/b", ""},
	} {
		name, err := groupName(c.own, c.want)
		must.Be(t, name == c.name && (err == nil) == (c.name != ""), c.want, c.own, name, err)
	}
}

func TestGroupDir(t *testing.T) {
	for _, c := range []struct{ root, name, dir string }{
		{"/", "/bench", "/mnt/bench"},
		{"/docker/abc", "/docker/abc/bench", "/mnt/bench"},
		{"/docker/abc", "/docker/abcd", ""},
		{"/docker/abc", "/bench", ""},
	} {
		dir, err := groupDir("/mnt", c.root, c.name)
		must.Be(t, dir == c.dir && (err == nil) == (c.dir != ""), c.name, "below", c.root, dir, err)
	}
}
