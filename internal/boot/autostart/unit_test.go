package autostart_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/boot/autostart"
	"krund/internal/durable"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// image creates a root in which krund is installed.
func image(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "usr/lib/systemd/system")
	must.Do(t, os.MkdirAll(dir, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "krund@.service"), nil, 0o644))
	return root
}

func TestName(t *testing.T) {
	for experiment, want := range map[string]string{
		"warmup": "krund@warmup.service", "a-b_c.d": "krund@a-b_c.d.service",
		"c++": `krund@c\x2b\x2b.service`, "a b/c": `krund@a\x20b\x2fc.service`,
	} {
		must.Equal(t, autostart.UnitName(experiment), want)
	}
}

func TestDropIn(t *testing.T) {
	for path, want := range map[string]string{
		"/x/warmup.toml":    `Environment="KRUND_CONFIG=/x/warmup.toml"`,
		"/x y/100%.toml":    `Environment="KRUND_CONFIG=/x y/100%%.toml"`,
		`/x/"q"\n.toml`:     `Environment="KRUND_CONFIG=/x/\"q\"\\n.toml"`,
		"relative.toml":     "",
		"/x/\nExecStart=/y": "",
	} {
		got, err := autostart.DropIn(path)
		if want == "" {
			must.Be(t, err != nil, path, got)
			continue
		}
		must.Be(t, err == nil && strings.Contains(got, "\n[Service]\n"+want+"\n"), path, got, "error", err)
	}
}

// TestDropInRequiresTheMount: systemd must not start krund on an empty mount point.
func TestDropInRequiresTheMount(t *testing.T) {
	for path, want := range map[string]string{
		"/x/warmup.toml": `RequiresMountsFor="/x/warmup.krun"`,
		"/x y/100%.toml": `RequiresMountsFor="/x y/100%%.krun"`,
		`/x\n/a'b.toml`:  `RequiresMountsFor="/x\n/a'b.krun"`,
		`/x/"q".toml`:    "",
	} {
		got, err := autostart.DropIn(path)
		if want != "" {
			want = "[Unit]\n" + want + "\n"
		}
		must.Be(t, err == nil && strings.Contains(got, "removes it.\n"+want+"[Service]\n"), path, got,
			"error", err, want)
	}
}

func TestInstallAndRemoveInAnImage(t *testing.T) {
	root := image(t)
	i := autostart.Installer{FS: durable.OS(), Root: root}
	for range 2 { // nothing changes the second time
		made, err := i.Install(t.Context(), "warmup", "/x/warmup.toml")
		must.Need(t, err == nil && len(made) == 2 && i.Enabled("warmup") && !i.Enabled("other"), "made", made,
			"error", err)
		target, err := os.Readlink(made[1])
		must.Be(t, err == nil && target == "/usr/lib/systemd/system/krund@.service", "the link leads to",
			target, "error", err)
		for _, target := range templateTargets(t) {
			must.Get(os.Lstat(filepath.Join(root, "etc/systemd/system", target+".wants",
				"krund@warmup.service")))(t, "not started with", target)
		}
	}
	removed, err := i.Remove(t.Context(), "warmup")
	must.Be(t, removed && err == nil && !i.Enabled("warmup"), "removed", removed, "error", err)
	if left, err := os.ReadDir(filepath.Join(root, "etc/systemd/system")); err != nil || len(left) != 2 {
		t.Errorf("left %v, error %v", left, err) // multi-user.target.wants, bench.target.wants
	}
	left, err := filepath.Glob(filepath.Join(root, "etc/systemd/system/*/*"))
	must.Be(t, err == nil && len(left) == 0, "left", left, "error", err)
	removed, err = i.Remove(t.Context(), "warmup")
	must.Be(t, !removed && err == nil, "a second time: removed", removed, "error", err)
}

// templateTargets returns the targets that the template names. Images and machines must start an
// experiment with the same targets.
func templateTargets(t *testing.T) []string {
	t.Helper()
	text := must.Get(os.ReadFile("../../../systemd/krund@.service"))(t)
	_, list, found := strings.Cut(string(text), "\nWantedBy=")
	must.Need(t, found, "the template has no WantedBy=")
	list, _, _ = strings.Cut(list, "\n")
	return strings.Fields(list)
}

func TestSystemdIsReloaded(t *testing.T) {
	root := image(t)
	var calls []string
	i := autostart.Installer{FS: durable.OS(), Root: root, Systemctl: func(_ context.Context,
		args ...string) error {
		calls = append(calls, strings.Join(args, " "))
		link := filepath.Join(root, "etc/systemd/system/multi-user.target.wants", args[len(args)-1])
		switch args[0] {
		case "enable":
			return errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink("x", link))
		case "disable":
			return os.Remove(link)
		}
		return nil
	}}
	must.Get(i.Install(t.Context(), "warmup", "/x/warmup.toml"))(t)
	must.Do(t, i.Unlink(t.Context(), "warmup"))
	if err := i.Unlink(t.Context(), "warmup"); err != nil { // krund and a user may both do it
		t.Fatal(err)
	}
	removed, err := i.Remove(t.Context(), "warmup")
	must.Need(t, err == nil && removed, removed, err)
	want := []string{"daemon-reload", "enable krund@warmup.service", "disable krund@warmup.service",
		"daemon-reload"}
	must.Be(t, slices.Equal(calls, want), "calls", calls, "want", want)
}

// recorder records which directories are synced and which systemctl commands are run.
type recorder struct {
	durable.FS
	events []string
}

func (r *recorder) SyncDir(name string) error {
	r.events = append(r.events, "sync "+filepath.Base(name))
	return r.FS.SyncDir(name)
}

// systemctl changes the links like the real one.
func (r *recorder) systemctl(root string) func(context.Context, ...string) error {
	return func(_ context.Context, args ...string) error {
		r.events = append(r.events, args[0])
		for _, target := range []string{"multi-user.target", "bench.target"} {
			dir := filepath.Join(root, "etc/systemd/system", target+".wants")
			link := filepath.Join(dir, args[len(args)-1])
			switch args[0] {
			case "enable":
				if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink("x", link)); err != nil {
					return err
				}
			case "disable":
				if err := os.Remove(link); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// systemctl does not sync its changes, and a power cut just after it would undo them.
func TestLinksOfSystemctlAreSynced(t *testing.T) {
	root := image(t)
	r := &recorder{FS: durable.OS()}
	i := autostart.Installer{FS: r, Root: root, Systemctl: r.systemctl(root)}
	must.Get(i.Install(t.Context(), "warmup", "/x/warmup.toml"))(t)
	want := []string{"sync multi-user.target.wants", "sync bench.target.wants", "sync system"}
	if n := len(r.events); n < 4 || !slices.Equal(r.events[n-4:], append([]string{"enable"}, want...)) {
		t.Errorf("enabling: %q, want %q after enable", r.events, want)
	}
	r.events = nil
	err := i.Unlink(t.Context(), "warmup")
	must.Be(t, err == nil && !i.Enabled("warmup"), err, "enabled", i.Enabled("warmup"))
	must.EqualList(t, r.events, append([]string{"disable"}, want...), "disabling", "after disable")
}

// TestDisabledWhateverSystemctlDoes: what counts is that the links are gone durably. Under load
// systemctl may be killed at its deadline, before or after its work.
func TestDisabledWhateverSystemctlDoes(t *testing.T) {
	for name, test := range map[string]struct {
		removes bool
		err     error
	}{
		"too slow, and done":     {true, command.ErrTimeout},
		"too slow, and not done": {false, command.ErrTimeout},
		"no systemd to ask":      {false, errors.New("Failed to connect to bus")},
		"said yes, did nothing":  {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := image(t)
			must.Get((autostart.Installer{FS: durable.OS(), Root: root}).Install(t.Context(), "warmup",
				"/x/warmup.toml"))(t)
			r := &recorder{FS: durable.OS()}
			i := autostart.Installer{FS: r, Root: root, Systemctl: func(ctx context.Context,
				args ...string) error {
				if test.removes {
					return errors.Join(r.systemctl(root)(ctx, args...), test.err)
				}
				return test.err
			}}
			must.Do(t, i.Unlink(t.Context(), "warmup"))
			left, err := filepath.Glob(filepath.Join(root, "etc/systemd/system/*.wants/*"))
			must.Be(t, err == nil && len(left) == 0, "left", left, err)
			for _, dir := range []string{"sync multi-user.target.wants", "sync bench.target.wants"} {
				must.Be(t, slices.Contains(r.events, dir), "no", dir, "in", r.events)
			}
		})
	}
}

// TestNotDisabled: the links remain, and the error has both reasons.
func TestNotDisabled(t *testing.T) {
	root := image(t)
	link := filepath.Join(root, "etc/systemd/system/multi-user.target.wants/krund@warmup.service")
	must.Do(t, os.MkdirAll(filepath.Join(link, "not empty"), 0o755))
	i := autostart.Installer{FS: durable.OS(), Root: root, Systemctl: func(context.Context,
		...string) error {
		return command.ErrTimeout
	}}
	err := i.Unlink(t.Context(), "warmup")
	must.Be(t, errors.Is(err, command.ErrTimeout) && errors.Is(err, syscall.ENOTEMPTY) &&
		strings.Contains(err.Error(), "rm "+link), err)
}

func TestErrorsOfSystemdAreReported(t *testing.T) {
	refused := errors.New("refused")
	i := autostart.Installer{FS: durable.OS(), Root: image(t), Systemctl: func(context.Context,
		...string) error {
		return refused
	}}
	_, err := i.Install(t.Context(), "warmup", "/x/warmup.toml")
	must.Fail(t, err, refused, "error")
}

func TestWithoutTemplate(t *testing.T) {
	i := autostart.Installer{FS: durable.OS(), Root: t.TempDir()}
	_, err := i.Install(t.Context(), "warmup", "/x/warmup.toml")
	must.Fail(t, err, autostart.ErrNoTemplate, "error")
}

// TestForget: the drop-ins of experiments that are gone go, unless their unit starts at boot.
func TestForget(t *testing.T) {
	i := autostart.Installer{FS: durable.OS(), Root: image(t)}
	for _, name := range []string{"gone", "enabled", "there"} {
		must.Get(i.Install(t.Context(), name, "/hub/"+name+".toml"))(t)
		if name != "enabled" {
			must.Do(t, i.Unlink(t.Context(), name))
		}
	}
	gone := func(config string) bool { return config != "/hub/there.toml" }
	must.Do(t, i.Forget(gone))
	for name, want := range map[string]bool{"gone": false, "enabled": true, "there": true} {
		_, known := i.Config(name)
		must.Equal(t, known, want, name, "known")
	}
}

// TestInUnit has the lines of real machines: systemd 252 and 257 with control groups of version 2,
// and systemd 247 with both versions.
func TestInUnit(t *testing.T) {
	const unit = `krund@a\x2b-b.service`
	for _, test := range []struct {
		name, unit, cgroup string
		want               bool
	}{
		{"the unit", unit, "0::/system.slice/system-krund.slice/" + unit + "\n", true},
		{"a group below it", unit, "0::/system.slice/system-krund.slice/" + unit + "/krund-01234567\n", true},
		{"version 1", unit, "12:cpuset:/\n1:name=systemd:/system.slice/system-krund.slice/" + unit +
			"\n0::/system.slice\n", true},
		{"another unit", "krund@a.service", "0::/system.slice/system-krund.slice/" + unit + "\n", false},
		{"a name that begins the same", "krund@a", "0::/system.slice/krund@ab.service\n", false},
		{"a shell", unit, "0::/user.slice/user-1000.slice/session-3.scope\n", false},
		{"a shell, and no unit", "", "0::/user.slice/user-1000.slice/session-3.scope\n", false},
		{"a container", unit, "0::/\n", false},
		{"a container, and no unit", "", "0::/\n", false},
		{"a controller of that name", unit, "3:" + unit + ":/\n", false},
		{"nothing", unit, "", false},
		{"no colons", unit, unit + "\n", false},
	} {
		root := t.TempDir()
		must.Write(t, filepath.Join(root, "proc/self/cgroup"), test.cgroup)
		must.Equal(t, autostart.InUnit(test.unit, sysroot.New(root)), test.want, test.name)
	}
	must.Be(t, !autostart.InUnit("krund@a.service", sysroot.New(t.TempDir())),
		"without /proc a process is in a unit")
}
