package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/boot/autostart"
	"krund/rig/must"
)

// TestSecondEnableIsRefused: two that want the machine for themselves cannot both start with a
// boot. One would fail in each, and the machine stay idle when the other has ended.
func TestSecondEnableIsRefused(t *testing.T) {
	caller := func(text string) string { return text }
	reboots := func(text string) string { return strings.Replace(text, `"none"`, `"hardware"`, 1) }
	fresh := func(text string) string { return strings.Replace(text, `"caller"`, `"fresh"`, 1) }
	for name, test := range map[string]struct {
		// makes the other experiment's configuration of the usual text; nil: it is gone
		other   func(string) string
		own     func(string) string
		refused bool
	}{
		"both with reboots":                  {reboots, reboots, true},
		"reboots beside a fresh account":     {fresh, reboots, true},
		"a fresh account beside reboots":     {reboots, fresh, true},
		"what the other wants is not known":  {nil, reboots, true},
		"the other runs as the caller":       {caller, reboots, false},
		"this one runs as the caller":        {reboots, caller, false},
		"neither wants the machine for both": {caller, caller, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, root := startable(t)
			b.must(os.WriteFile(b.toml, []byte(test.own(plainText())), 0o644))
			other := filepath.Join(t.TempDir(), "first++.toml")
			if test.other != nil {
				b.must(os.WriteFile(other, []byte(test.other(plainText())), 0o644))
			}
			i := autostart.Installer{FS: lax(), Root: root}
			_, err := i.Install(t.Context(), "first++", other)
			b.must(err)
			r := krunctl(t, "enable", "--root", root, b.toml).in(b)
			if !test.refused {
				must.Be(t, r.code == exitOK && i.Enabled("test"), r.text())
				return
			}
			must.Be(t, r.code == exitError && !i.Enabled("test") && i.Enabled("first++"), "enabled",
				i.Enabled("test"), "the first", i.Enabled("first++"), r.text())
			says := []string{`krund@first\x2b\x2b.service`, "krunctl status " + other, "krunctl disable " +
				other}
			for _, part := range says {
				must.Contain(t, r.stderr, part)
			}
		})
	}
	t.Run("the same again", func(t *testing.T) {
		b, root := startable(t)
		for range 2 {
			krunctl(t, "enable", "--root", root, b.toml).in(b).says(t, exitOK, "", "")
		}
	})
	t.Run("when the other is disabled", func(t *testing.T) {
		b, root := startable(t)
		i := autostart.Installer{FS: lax(), Root: root}
		_, err := i.Install(t.Context(), "first", b.toml)
		b.must(err)
		b.must(i.Unlink(t.Context(), "first"))
		krunctl(t, "enable", "--root", root, b.toml).in(b).says(t, exitOK, "", "")
	})
}

// plainText is the text of a startable experiment as the caller, without reboots.
func plainText() string {
	return strings.NewReplacer("python3", "sh", "[experiment_end]\n", "").Replace(experimentText)
}
