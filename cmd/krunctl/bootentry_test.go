package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/control"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/rig/must"
)

// bootableMachine is a machine with GRUB and an entry for experiments; its grub-editenv is on the
// PATH.
func bootableMachine(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"boot/grub/grubenv":    "# GRUB Environment Block\n" + strings.Repeat("#", 999),
		"boot/grub/grub.cfg":   "if [ \"${next_entry}\" ]; then\n  set default=\"${next_entry}\"\nfi\n",
		"boot/grub/custom.cfg": "menuentry \"krund\" --id krund {\n  linux /vmlinuz krund.entry\n}\n",
		"proc/self/mountinfo":  "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
	} {
		path := filepath.Join(root, name)
		must.Write(t, path, text)
	}
	tools := t.TempDir()
	script := "#!/bin/sh\n{ echo '# GRUB Environment Block'; " +
		"test $2 = unset || echo \"$3\"; echo '###'; } >" + root + "$1\n"
	must.Do(t, os.WriteFile(filepath.Join(tools, "grub-editenv"), []byte(script), 0o755))
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	return root
}

func TestBootEntry(t *testing.T) {
	root := bootableMachine(t)
	b, image := startable(t)
	text, err := os.ReadFile(b.toml)
	b.must(err)
	b.must(os.WriteFile(b.toml, append(text, "\n[boot]\nentry = \"krund\"\n"...), 0o644))
	asked := func() bool {
		block, err := os.ReadFile(filepath.Join(root, "boot/grub/grubenv"))
		b.must(err)
		return strings.Contains(string(block), "\nnext_entry=krund\n")
	}
	a := testApp(t)
	a.systemctl = func(context.Context, ...string) error { return nil }
	a.machine = func(context.Context) *control.Machine {
		return &control.Machine{Host: host.Host{Root: sysroot.New(root)}}
	}
	run := func(uid, code int, says string, ask bool, args ...string) {
		t.Helper()
		a.uid = uid
		r := runApp(a, args...)
		must.Be(t, r.code == code && strings.Contains(r.stdout+r.stderr, says) && asked() == ask, args,
			"asked", asked(), r.text())
	}
	// An image's boot loader is not this machine's.
	run(0, exitOK, "boot loader's entry krund", false, "enable", "--root", image, b.toml)
	run(0, exitUsage, "omit --start", false, "enable", "--start", b.toml)
	b.must(os.Rename(filepath.Join(root, "boot/grub/custom.cfg"), filepath.Join(root, "custom.cfg")))
	run(0, exitError, "no such entry", false, "enable", b.toml)
	b.must(os.Rename(filepath.Join(root, "custom.cfg"), filepath.Join(root, "boot/grub/custom.cfg")))
	cfg, err := experiment.ParseConfig(lax(), b.toml, "bencher7")
	b.must(err)
	entry, ok := a.entryOf(t.Context(), cfg)
	must.Need(t, ok, "the configuration's entry is not known")
	b.must(entry.Ask(t.Context()))
	must.Need(t, asked(), "the loader was not asked")
	// A user who may not write the request leaves it alone; root withdraws it, by a hold and by
	// disabling.
	run(1000, exitOK, "", true, "hold", b.toml)
	run(0, exitOK, "", false, "hold", b.toml)
	b.must(entry.Ask(t.Context()))
	run(0, exitOK, "", false, "disable", b.toml)
	b.must(os.WriteFile(b.directory.ConfigCopy(), []byte(cfg.Text), 0o644))
	run(0, exitOK, "sudo krunctl enable", false, "resume", b.toml) // it is not enabled on this machine
}
