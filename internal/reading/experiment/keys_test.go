package experiment

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/key"
)

func TestCheckPattern(t *testing.T) {
	var known []key.Key
	for _, s := range []string{"fasta:C:so", "nbody:C:so", "nbody:PyPy:py", "richards:C:so",
		"richards:PyPy:py", "spectralnorm:C:so", "spectralnorm:PyPy:py"} {
		k, err := key.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, k)
	}
	for _, test := range []struct{ pattern, want string }{
		{"", ""}, {"nbody:C:so", ""}, {"*:PyPy:*", ""},
		{"nbdoy:pypy:py", "there are nbody:PyPy:py, "},
		{"*:CPython:*", ", and 2 more"},
	} {
		p, err := ParsePattern(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		err = checkPattern(p, known)
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%q: %q, want %q", test.pattern, got, test.want)
		}
		if err := checkPattern(p, nil); err != nil {
			t.Errorf("%q, of nothing: %v", test.pattern, err)
		}
	}
}
