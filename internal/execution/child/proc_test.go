package child

import (
	"slices"
	"testing"

	"krund/rig/must"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 100 18446744073709551615 " +
		"1 1 0\n"
	for name, c := range map[string]struct {
		text string
		want proc
	}{
		"ordinary": {"123 (sleep) S" + rest,
			proc{PID: 123, Parent: 1, Session: 100, Start: 12345, State: 'S', Name: "sleep"}},
		"brackets": {"7 (a) S (b)) Z" + rest,
			proc{PID: 7, Parent: 1, Session: 100, Start: 12345, State: 'Z', Name: "a) S (b)"}},
		"spaces and line": {"7 (a \n b) D" + rest,
			proc{PID: 7, Parent: 1, Session: 100, Start: 12345, State: 'D', Name: "a \n b"}},
		"empty name": {"7 () R" + rest, proc{PID: 7, Parent: 1, Session: 100, Start: 12345, State: 'R'}},
	} {
		got, err := parseStat([]byte(c.text))
		must.Be(t, err == nil && got == c.want, name, "got", got, err)
	}
	for _, text := range []string{
		"", "1", "(x)", "1 (x", "1 (x)", "1 (x) S", "1 (x) SS" + rest, "x (x) S" + rest, "0 (x) S" + rest,
		"-4 (x) S" + rest,
		"1 (x) S 1 1 1 0 -1 1 1 2 3 4 5 6 7 8 20 0 1 0 later 1", ")1(" + rest,
	} {
		got, err := parseStat([]byte(text))
		must.Be(t, err != nil, text, "got", got)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("123 (sleep) S 1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 100"))
	f.Add([]byte("1 (a) b) R 1 2 3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseStat(text)
		must.Be(t, err != nil || p.PID >= 1, text, p)
	})
}

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
