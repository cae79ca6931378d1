package display

import (
	"os/exec"
	"strings"
	"testing"

	"krund/rig/must"
)

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
