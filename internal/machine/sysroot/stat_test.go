package sysroot

import (
	"testing"

	"krund/rig/must"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 100 18446744073709551615 " +
		"1 1 0\n"
	for name, c := range map[string]struct {
		text string
		want ProcessStat // what differs
	}{
		"ordinary": {"123 (sleep) S" + rest,
			ProcessStat{PID: 123, State: 'S', Name: "sleep"}},
		"brackets": {"7 (a) S (b)) Z" + rest,
			ProcessStat{PID: 7, State: 'Z', Name: "a) S (b)"}},
		"spaces and line": {"7 (a \n b) D" + rest,
			ProcessStat{PID: 7, State: 'D', Name: "a \n b"}},
		"empty name": {"7 () R" + rest, ProcessStat{PID: 7, State: 'R'}},
	} {
		c.want.Parent, c.want.Session, c.want.Flags, c.want.Ticks = 1, 100, 4194560, 11
		c.want.Start, c.want.CPU = 12345, -1
		got, err := ParseProcessStat(c.text)
		must.Be(t, err == nil && got == c.want, name, "got", got, err)
	}
	for _, text := range []string{
		"", "1", "(x)", "1 (x", "1 (x)", "1 (x) S", "1 (x) SS" + rest, "x (x) S" + rest, "0 (x) S" + rest,
		"-4 (x) S" + rest,
		"1 (x) S 1 1 1 0 -1 1 1 2 3 4 5 6 7 8 20 0 1 0 later 1", ")1(" + rest,
	} {
		got, err := ParseProcessStat(text)
		must.Be(t, err != nil, text, "got", got)
	}
}

func TestParseSchedstat(t *testing.T) {
	ns, runs, err := ParseSchedstat("2046170 17 129\n")
	must.Be(t, err == nil && ns == 2046170 && runs == 129, ns, runs, err)
	for _, text := range []string{"", "1 2", "1 2 3 4", "x 0 0", "0 0 x", "99999999999999999999 0 0"} {
		_, _, err := ParseSchedstat(text)
		must.Be(t, err != nil, text)
	}
}

func TestParseGroup(t *testing.T) {
	for text, want := range map[string]string{
		"0::/\n": "/",
		"12:cpu:/x\n0::/system.slice/a.service\n": "/system.slice/a.service",
		"0::/odd:name": "/odd:name",
	} {
		got, found := ParseGroup(text, "")
		must.Be(t, got == want && found, text, "got", got)
	}
	got, found := ParseGroup("1:name=systemd:/s\n4:cpu,cpuacct:/user.slice\n3:cpuset:/\n", "cpu")
	must.Be(t, got == "/user.slice" && found, got)
	got, found = ParseGroup("3:cpuset:/\n", "")
	must.Be(t, !found, "got", got)
}

func FuzzStat(f *testing.F) {
	f.Add("123 (sleep) S 1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 100")
	f.Add("1 (a) b) R 1 2 3")
	f.Add(`9 8 0:26 / /a\040b\134c rw - cgroup2 cgroup rw`)
	f.Add(`9 8 0:26 \ / a\0 - cgroup2 `)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProcessStat(text)
		must.Be(t, err != nil || p.PID >= 1, text, p)
		for _, m := range ParseMounts(text) {
			must.Be(t, m.Point != "" && m.Kind != "" && len(Unescape(m.Point)) <= len(m.Point), text, m)
		}
		ParseGroup(text, "cpu")
		_, _, _ = ParseSchedstat(text) // only that they return
	})
}
