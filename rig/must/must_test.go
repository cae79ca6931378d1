package must_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"krund/rig/must"
)

// A recorder is a test that only writes down what it is told.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()           {}
func (r *recorder) Fatal(args ...any) { r.said = "fatal: " + fmt.Sprint(args...) }
func (r *recorder) Error(args ...any) { r.said = "error: " + fmt.Sprint(args...) }

func TestWhatIsSaid(t *testing.T) {
	two := func(err error) (int, error) { return 2, err }
	three := func(err error) (int, string, error) { return 2, "b", err }
	bad := errors.New("bad")
	tests := []struct {
		want string
		do   func(t testing.TB)
	}{
		{"", func(t testing.TB) { must.Do(t, nil) }},
		{"fatal: bad", func(t testing.TB) { must.Do(t, bad) }},
		{"fatal: case 3: bad", func(t testing.TB) { must.Do(t, bad, "case", 3) }},
		{"", func(t testing.TB) { must.Equal(t, must.Get(two(nil))(t), 2) }},
		{"fatal: bad", func(t testing.TB) { must.Get(two(bad))(t) }},
		{"fatal: bad", func(t testing.TB) { must.Get2(three(bad))(t) }},
		{`error: word: got "a", want "b"`, func(t testing.TB) { must.Equal(t, "a", "b", "word") }},
		{"error: got 1, want 2", func(t testing.TB) { must.Equal(t, 1, 2) }},
		{"", func(t testing.TB) { must.EqualList(t, nil, []int{}) }},
		{"error: got [1], want [2]", func(t testing.TB) { must.EqualList(t, []int{1}, []int{2}) }},
		{"", func(t testing.TB) { must.Contain(t, "abc", "b") }},
		{"error: no \"d\" in\nabc", func(t testing.TB) { must.Contain(t, "abc", "d") }},
		{"", func(t testing.TB) { must.Fail(t, fmt.Errorf("read: %w", io.EOF), io.EOF) }},
		{"", func(t testing.TB) { must.Be(t, true, "no") }},
		{"error: {a:1} seen", func(t testing.TB) { must.Be(t, false, struct{ a int }{1}, "seen") }},
		{"fatal: 2 of them", func(t testing.TB) { must.Need(t, false, 2, "of them") }},
		{"", func(t testing.TB) { must.Need(t, true) }},
		{"", func(t testing.TB) { must.Refuse(t, bad, "ad") }},
		{`error: x: error bad, want one with "c"`, func(t testing.TB) { must.Refuse(t, bad, "c", "x") }},
		{`error: error <nil>, want one with ""`, func(t testing.TB) { must.Refused(two(nil))(t, "") }},
		{"error: error <nil>, want EOF", func(t testing.TB) { must.Fail(t, nil, io.EOF) }},
	}
	for _, test := range tests {
		var r recorder
		test.do(&r)
		must.Equal(t, r.said, test.want)
	}
}
