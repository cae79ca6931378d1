package child

import (
	"slices"
	"testing"

	"krund/rig/must"
)

func TestDescent(t *testing.T) {
	// 1 is init, 10 the daemon, 20 the benchmark.
	all := []proc{
		{PID: 1}, {PID: 10, Parent: 1}, {PID: 20, Parent: 10}, {PID: 11, Parent: 10}, {PID: 12, Parent: 10},
		{PID: 21, Parent: 20}, {PID: 22, Parent: 21}, {PID: 13, Parent: 12}, {PID: 99, Parent: 1}, {PID: 14,
			Parent: 11},
	}
	isBenchmark := func(p proc) bool { return p.PID == 12 }
	for name, c := range map[string]struct {
		all  []proc
		root int
		want []int
	}{
		"benchmark's and orphan's": {all, 20, []int{12, 13, 21, 22}},
		"benchmark reaped":         {all, 77, []int{12, 13}},
		"nothing":                  {nil, 20, nil},
		"a loop, as while numbers go": {[]proc{{PID: 21, Parent: 20}, {PID: 20, Parent: 21},
			{PID: 22, Parent: 22}}, 20, []int{21}},
	} {
		var got []int
		for _, p := range descendants(c.all, 10, c.root, isBenchmark) {
			got = append(got, p.PID)
		}
		slices.Sort(got)
		must.EqualList(t, got, c.want, name)
	}
}

func TestField(t *testing.T) {
	text := []byte("Name:\tsleep\nNoNewPrivs:\t1\nUid:\t5 6\nempty\noom_kill 42\nodd x\n")
	v, ok := field(text, "Name")
	must.Be(t, v == "sleep" && ok, "got", v, ok)
	for name, want := range map[string]int64{"NoNewPrivs": 1, "oom_kill": 42, "Uid": 5} {
		n, ok := number(text, name)
		must.Be(t, n == want && ok, name, "got", n, ok)
	}
	for _, name := range []string{"empty", "odd", "absent", ""} {
		n, ok := number(text, name)
		must.Be(t, !ok, name, "got", n)
	}
}

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
