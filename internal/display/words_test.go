package display

import (
	"os/exec"
	"strings"
	"testing"

	"krund/rig/must"
)

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"heap", "heap", 0}, {"heep", "heap", 1},
		{"haep", "heap", 1}, {"hap", "heap", 1},
		// optimal string alignment: a swapped pair is not edited again
		{"kitten", "sitting", 3}, {"ca", "abc", 3},
	}
	for _, test := range tests {
		must.Equal(t, Distance(test.a, test.b), test.want, test.a, test.b)
		must.Equal(t, Distance(test.b, test.a), test.want, test.b, test.a)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"iterations", "executions", "order", "name"}
	tests := []struct{ name, want string }{
		{"iteration", "iterations"}, {"ITERATIONS", "iterations"}, {"itreations", "iterations"},
		{"excutions", "executions"}, {"odrer", "order"},
		{"nam", "name"}, {"heap", ""}, {"x", ""}, {"", ""},
	}
	for _, test := range tests {
		got, ok := Nearest(test.name, keys)
		must.Be(t, got == test.want && ok == (test.want != ""), test.name, got, ok, "want", test.want)
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "''",
		"/home/lab/warmup.toml":  "/home/lab/warmup.toml",
		"my lab.toml":            "'my lab.toml'",
		"krund@a\\x20b.service":  `'krund@a\x20b.service'`,
		"it's":                   `'it'\''s'`,
		"$HOME;reboot":           "'$HOME;reboot'",
		"~root":                  "'~root'",
		"a=b":                    "'a=b'",
		"größe":                  "'größe'",
		"two\nlines' \x1b[31m\\": `$'two\012lines\' \033[31m\\'`,
	} {
		must.Equal(t, ShellQuote(text), want)
	}
	must.Equal(t, ShellPath("-rf"), "./-rf", "a file named like an option")
	must.Equal(t, ShellJoin([]string{"krunctl", "repair", "a b"}), "krunctl repair 'a b'")
}

// FuzzQuote: a shell reads the quoted text back as one word, and it contains no control characters.
func FuzzQuote(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip(err)
	}
	for _, text := range []string{"", "a", " ", "'", "\\", "$(reboot)", "\n", "\x7f1", "-n", "!x", "*",
		"\xff'\x01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") || len(text) > 1000 {
			t.Skip("no file has such a name")
		}
		quoted := ShellQuote(text)
		must.Be(t, !strings.ContainsFunc(quoted, isControl), quoted, "has control characters")
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf '%s|' "+quoted).Output()
		must.Be(t, err == nil && string(out) == text+"|", text, "was written", quoted, "and read", out, err)
	})
}
