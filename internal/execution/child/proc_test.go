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
