package experiment

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/rig/must"
)

func TestParseSkip(t *testing.T) {
	for text, want := range map[string]Skip{"0": {}, "17": {Iterations: 17}, "steady": {Steady: true}} {
		got, err := ParseSkip(text)
		must.Be(t, err == nil && got == want, text, got, err)
	}
	for _, text := range []string{"", "-1", "10%", "1.5"} {
		must.Refused(ParseSkip(text))(t, "", text, "is taken")
	}
}

func TestNames(t *testing.T) {
	for arg, want := range map[string][2]string{
		"a/warmup.toml": {"a/warmup.krun", "warmup"}, "a/warmup.krun/": {"a/warmup.krun", "warmup"},
		"warmup": {"warmup", "warmup"},
	} {
		name, err := Name(nil, arg, "host") // there is no such configuration
		got := [2]string{DirectoryOf(arg), name}
		must.Be(t, err == nil && got == want, arg, got, err)
	}
	must.Equal(t, ConfigOf("a/warmup.krun/"), "a/warmup.toml")
}

func TestCheckPattern(t *testing.T) {
	var known []key.Key
	for _, s := range []string{"fasta:C:so", "nbody:C:so", "nbody:PyPy:py", "richards:C:so",
		"richards:PyPy:py", "spectralnorm:C:so", "spectralnorm:PyPy:py"} {
		known = append(known, must.Get(key.Parse(s))(t))
	}
	for _, test := range []struct{ pattern, want string }{
		{"", ""}, {"nbody:C:so", ""}, {"*:PyPy:*", ""},
		{"nbdoy:pypy:py", "there are nbody:PyPy:py, "},
		{"*:CPython:*", ", and 2 more"},
	} {
		p := must.Get(ParsePattern(test.pattern))(t)
		err := checkPattern(p, known)
		must.Be(t, (err == nil) == (test.want == "") && strings.Contains(fmt.Sprint(err), test.want),
			test.pattern, err)
		must.Do(t, checkPattern(p, nil), test.pattern, "of nothing")
	}
}
