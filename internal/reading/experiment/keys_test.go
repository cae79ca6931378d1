package experiment

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/rig/must"
)

func TestCheckPattern(t *testing.T) {
	var known []key.Key
	for _, s := range []string{"fasta:C:so", "nbody:C:so", "nbody:PyPy:py", "richards:C:so",
		"richards:PyPy:py", "spectralnorm:C:so", "spectralnorm:PyPy:py"} {
		k, err := key.Parse(s)
		must.Do(t, err)
		known = append(known, k)
	}
	for _, test := range []struct{ pattern, want string }{
		{"", ""}, {"nbody:C:so", ""}, {"*:PyPy:*", ""},
		{"nbdoy:pypy:py", "there are nbody:PyPy:py, "},
		{"*:CPython:*", ", and 2 more"},
	} {
		p, err := ParsePattern(test.pattern)
		must.Do(t, err)
		err = checkPattern(p, known)
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%q: %q, want %q", test.pattern, got, test.want)
		}
		must.Do(t, checkPattern(p, nil), test.pattern, "of nothing")
	}
}
