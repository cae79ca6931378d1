package autostart_test

import (
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/boot/autostart"
	"krund/internal/durable/crashfs"
	"krund/internal/experiment/directory"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func TestHasArgument(t *testing.T) {
	for cmdline, want := range map[string]bool{
		"": false, "root=/dev/sda1 ro quiet": false, "root=/dev/sda1 krund.hold quiet\n": true,
		"krund.hold=1": true, "krund.hold=yes": true,
		"krund.hold=0": false, "krund.hold=off": false, "krund.hold krund.hold=0": false,
		"krund.holding": false, "xkrund.hold": false,
		"quiet -- krund.hold": false, `"krund.hold"`: true,
	} {
		must.Equal(t, autostart.HasArgument(cmdline, autostart.HoldArgument), want, cmdline)
	}
}

func FuzzHasArgument(f *testing.F) {
	f.Add("root=/dev/sda1 krund.hold=1")
	f.Fuzz(func(t *testing.T, cmdline string) {
		must.Be(t, !autostart.HasArgument(cmdline, autostart.HoldArgument) ||
			strings.Contains(cmdline, autostart.HoldArgument), cmdline, "holds")
		if strings.Contains(cmdline, "--") {
			return
		}
		must.Be(t, autostart.HasArgument(cmdline+" krund.hold", autostart.HoldArgument), cmdline,
			"with the argument at its end does not hold")
	})
}

func TestFind(t *testing.T) {
	const dir = "/lab/x.krun"
	fsys, root := crashfs.New("/lab"), t.TempDir()
	write := func(name, text string) { must.Write(t, filepath.Join(root, name), text) }
	want := func(part string) {
		t.Helper()
		why, err := autostart.FindHold(fsys, dir, sysroot.New(root))
		must.Be(t, err == nil && (why == "") == (part == "") && strings.Contains(why, part), why, err, part)
	}
	want("") // no directory, no /proc
	write("proc/cmdline", "quiet krund.hold\n")
	want("kernel argument krund.hold")
	write("etc/krund/hold", "")
	want("held by /etc/krund/hold")
	f := must.Get(directory.Create(fsys, dir))(t)
	must.Do(t, f.Ask(directory.Hold, "test"))
	want("krunctl resume " + dir)
}
