package key_test

import (
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/rig/must"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("n", key.MaxName)
	tests := []struct {
		name, text string
		want       key.Key
		err        string // part of the message; "" when none
	}{
		{"krun", "nbody:HotSpot:default-java", key.Key{"nbody", "HotSpot", "default-java", ""}, ""},
		{"all marks", "a_b:C++:v1.2-x", key.Key{"a_b", "C++", "v1.2-x", ""}, ""},
		{"longest", long + ":C:d", key.Key{long, "C", "d", ""}, ""},
		{"arm", "nbody:C:d@new", key.Key{"nbody", "C", "d", "new"}, ""},
		{"longest with arm", long + ":C:d@" + long, key.Key{long, "C", "d", long}, ""},
		{"empty arm", "nbody:C:d@", key.Key{}, `arm: the name is empty`},
		{"two arms", "nbody:C:d@e@f", key.Key{}, `arm: the name "e@f" contains '@'`},
		{"arm of dots", "nbody:C:d@..", key.Key{}, `arm: the name ".." consists of dots only`},
		{"slash in the arm", "nbody:C:d@../x", key.Key{}, `arm: the name "../x" contains '/'`},
		{"colon in the arm", "nbody:C:d@e:f", key.Key{}, `arm: the name "e:f" contains ':'`},
		{"arm of a benchmark", "nbody@e:C:d", key.Key{}, `has 1 parts`},
		{"empty", "", key.Key{}, `key "" has 1 parts; write benchmark:vm:variant`},
		{"two parts", "nbody:C", key.Key{}, `has 2 parts`},
		{"four parts", "nbody:C:d:e", key.Key{}, `has 4 parts`},
		{"empty benchmark", ":C:d", key.Key{}, `benchmark: the name is empty`},
		{"empty vm", "nbody::d", key.Key{}, `VM: the name is empty`},
		{"empty variant", "nbody:C:", key.Key{}, `variant: the name is empty`},
		{"space", "n body:C:d", key.Key{}, `benchmark: the name "n body" contains ' '`},
		{"star", "*:C:d", key.Key{}, `contains '*'`},
		{"slash", "nbody:C:a/b", key.Key{}, `variant: the name "a/b" contains '/'`},
		{"dots", "nbody:C:..", key.Key{}, `consists of dots only`},
		{"not ASCII", "nbödy:C:d", key.Key{}, `contains 'ö'`},
		{"not UTF-8", "nb\xffdy:C:d", key.Key{}, `contains '�'`},
		{"newline", "nbody:C:d\n", key.Key{}, `contains '\n'`},
		{"too long", long + "n:C:d", key.Key{}, `is 65 bytes long; use at most 64`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := key.Parse(test.text)
			checkError(t, err, test.err)
			must.Equal(t, got, test.want)
		})
	}
}

func TestCheckNameEmpty(t *testing.T) {
	must.Fail(t, key.CheckName(""), key.ErrEmptyName, "want ErrEmptyName")
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, key string
		want         bool
	}{
		{"nbody:C:d", "nbody:C:d", true},
		{"*:*:*", "nbody:C:d", true},
		{"nbody:*:*", "nbody:C:d", true},
		{"*:C:*", "nbody:C:d", true},
		{"*:*:d", "nbody:C:d", true},
		{"*:PyPy:*", "nbody:C:d", false},
		{"fasta:*:d", "nbody:C:d", false},
		{"nbody:C:default", "nbody:C:d", false},
		{"NBODY:C:d", "nbody:C:d", false},
		{"*:*:*", "nbody:C:d@new", true},
		{"nbody:C:d", "nbody:C:d@new", true},
		{"nbody:*:*@new", "nbody:C:d@new", true},
		{"nbody:*:*@new", "nbody:C:d@base", false},
		{"*:*:*@new", "nbody:C:d", false},
		{"fasta:*:*@new", "nbody:C:d@new", false},
		{"*:*:*@*", "nbody:C:d@new", true},
	}
	for _, test := range tests {
		p := must.Get(key.ParsePattern(test.pattern))(t)
		k := must.Get(key.Parse(test.key))(t)
		must.Equal(t, p.Match(k), test.want, p, "matches", k)
	}
}

func TestParsePatternErrors(t *testing.T) {
	tests := []struct{ text, err string }{
		{"*", `pattern "*" has 1 parts; write benchmark:vm:variant, with * for any`},
		{"*:*:*:*", `has 4 parts`},
		{"nbody*:C:d", `pattern "nbody*:C:d": benchmark: the name "nbody*" contains '*'`},
		{"**:C:d", `contains '*'`},
		{"nbody::d", `VM: the name is empty`},
		{"*:*:*@", `arm: the name is empty`},
		{"*:*:*@new*", `arm: the name "new*" contains '*'`},
	}
	for _, test := range tests {
		_, err := key.ParsePattern(test.text)
		if err == nil {
			t.Errorf("ParsePattern(%q) found no error", test.text)
			continue
		}
		checkError(t, err, test.err)
	}
}

func TestZeroPatternMatchesNothing(t *testing.T) {
	must.Be(t, !(key.Pattern{}).Match(key.Key{Benchmark: "nbody", VM: "C", Variant: "d"}),
		"the zero pattern matches a key")
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && err == nil:
		t.Errorf("no error; want one with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error is %q; want it to contain %q", err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("nbody:C:default-c")
	f.Add("::")
	f.Add("a:*:b")
	f.Add("a:b:c@d")
	f.Add("a:b:*@*")
	f.Add("a:b:c@d@e")
	f.Add("a:b:c@")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := key.Parse(s)
		p, patternErr := key.ParsePattern(s)
		must.Be(t, patternErr != nil || p.String() == s, "pattern", s, "is written back as", p)
		if err != nil {
			must.Equal(t, k, (key.Key{}), s, "a key beside an error")
			return
		}
		must.Equal(t, k.String(), s, "is written back as")
		must.Be(t, patternErr == nil && p.Match(k), s, "does not match itself", patternErr)
	})
}
