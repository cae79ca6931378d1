//go:build linux

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// TestNothingRestartsAMachineThatIsNotEnabled: krund refuses reboots when a person started it, even
// with the variable of its unit, and writes nothing. The commands that it names instead work. It
// runs as nobody, who cannot restart this machine whatever krund does; rig/lifecycle does the same
// as root.
func TestNothingRestartsAMachineThatIsNotEnabled(t *testing.T) {
	e := goodExperiment(t)
	e.write("test.toml", strings.Replace(e.config(), `reboot = "none"`, `reboot = "hardware"`, 1))
	for dir := e.dir; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		e.must(os.Chmod(dir, 0o777)) //nolint:gosec // for nobody
	}
	e.must(os.Chmod(scratch, 0o755)) //nolint:gosec // for nobody
	program := filepath.Join(scratch, "prefix/bin/krund")
	asNobody := func(args ...string) (int, string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), program, args...)
		c.Env = append(os.Environ(), unitVariable+"=krund@test.service")
		if os.Geteuid() == 0 {
			const nobody = 65534
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		must.Need(t, err == nil || errors.As(err, &exit), err)
		return c.ProcessState.ExitCode(), string(out)
	}
	path := filepath.Join(e.dir, "test.toml")
	code, out := asNobody("run", path)
	must.Equal(t, code, exitUsage, "status")
	for _, want := range []string{`reboot = "hardware" restarts this machine before each of`,
		" run --reboot none " + path + " ", " run --quick " + path + " ", "krunctl enable " + path + " "} {
		must.Contain(t, out, want)
	}
	_, err := os.Lstat(e.directory)
	must.Be(t, errors.Is(err, fs.ErrNotExist), "there is", e.directory, err)
	if code, out = asNobody("run", "--reboot", "soft", path); code != exitUsage ||
		!strings.Contains(out, `with reboot = "soft" in the file`) {
		t.Errorf("--reboot soft: status %d\n%s", code, out)
	}
	tried := 0
	for line := range strings.Lines(out) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), " # ")
		args := strings.Fields(command)
		if len(args) == 0 || args[0] != program {
			continue
		}
		tried++
		code, out := asNobody(args[1:]...)
		must.Equal(t, code, exitOK, command, "status", out)
	}
	must.Equal(t, tried, 2, "commands of krund are named, want 2", out)
}

// TestUnprivileged: who is not root cannot set what is required, and check does not promise it;
// what it names instead works.
func TestUnprivileged(t *testing.T) {
	const text = "[controls]\nperf_rate = \"require\"\n"
	cfg := must.Get(config.Parse("/x/test.toml", []byte(giveUpText+text), "lab1", doctor.Settings()))(t)
	found := []setting.Finding{
		{Name: "aslr", Policy: setting.Require, Status: setting.StatusOK},
		{Name: "perf_rate", Policy: setting.Require, Status: setting.StatusWillSet},
		{Name: "smt", Policy: setting.Apply, Status: setting.StatusWillSet},
	}
	if table := (setting.Table{Findings: found}); table.Fails() {
		t.Fatal("as root it is fit")
	}
	table := setting.Table{Findings: unprivileged(found)}
	const want = `set perf_rate = "warn" in [controls], then krund run --reboot none /x/test.toml`
	got := insteadOf(checkOptions{path: "/x/test.toml"}, cfg, table, "krund")
	must.Be(t, table.Fails() && got == want, "fails", table.Fails(), "instead", got, "want", want)
	table.Findings = append(table.Findings, setting.Finding{Name: "vm Lua", Policy: setting.Require,
		Status: setting.StatusCannot})
	must.Equal(t, insteadOf(checkOptions{path: "/x/test.toml"}, cfg, table, "krund"), "",
		"without an interpreter")
}

// TestNotEnabled: the commands keep the directory that was given, and status prints them.
func TestNotEnabled(t *testing.T) {
	cfg, err := config.Parse("/x/test.toml", []byte(strings.Replace(giveUpText, `"none"`, `"hardware"`, 1)),
		"lab1", nil)
	must.Do(t, err)
	var stderr bytes.Buffer
	code := status(notEnabled(runOptions{path: "/x/test.toml", directory: "/y/other.krun"}, cfg, "hardware",
		"krund"), &stderr)
	for _, want := range []string{"krund: nothing was started",
		"\n  krund run --reboot none --directory /y/other.krun /x/test.toml ",
		"\n  krund run --quick /x/test.toml ", "krunctl enable /x/test.toml "} {
		must.Be(t, code == exitUsage && strings.Contains(stderr.String(), want), "status", code, "no", want,
			"in", stderr.String())
	}
}

// TestUnitToDisable: whatever started krund at boot does not start it again once the experiment has
// ended, also one without restarts, and whatever the experiment is called now.
func TestUnitToDisable(t *testing.T) {
	for _, c := range []struct{ unit, mode, want string }{
		{"krund@x.service", config.RebootHardware, "krund@x.service"},
		{"krund@x.service", config.RebootNone, "krund@x.service"},
		{"", config.RebootKexec, "krund@other.service"},
		{"", config.RebootNone, ""},
	} {
		must.Equal(t, unitToDisable(c.unit, c.mode, "other"), c.want)
	}
}
