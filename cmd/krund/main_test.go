package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/control"
	"krund/internal/experiment/config"
	"krund/internal/machine/host"
	"krund/internal/machine/noise"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func krund(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	code = run(t.Context(), args, &out, &talk)
	return code, out.String(), talk.String()
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"run", "--help"}, {"check", "-h"},
		{"run", "x.toml", "-h"}} {
		code, stdout, stderr := krund(t, args...)
		must.Be(t, code == exitOK && stdout == usage && stderr == "", "krund", strings.Join(args, " "),
			"status", code, "stderr", stderr, "stdout", stdout)
	}
	for line := range strings.Lines(usage) {
		must.Be(t, len(strings.TrimRight(line, "\n")) <= 105, "too long for a terminal", line)
	}
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := krund(t, "version")
	must.Be(t, code == exitOK && strings.HasPrefix(stdout, "krund ") && strings.Count(stdout, "\n") == 1 &&
		stderr == "", "status", code, stdout, stderr)
	_, again, _ := krund(t, "--version")
	must.Equal(t, again, stdout, "--version says", "version")
}

func TestWrongUsage(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "Usage:"},
		{"unknown command", []string{"gauge"}, `unknown command "gauge"`},
		{"version of something", []string{"version", "x"}, "krund version takes no arguments"},
		{"no file", []string{"run"}, "krund run takes one NAME.toml, not 0"},
		{"two files", []string{"run", "a.toml", "--quiet", "b.toml"}, "krund run takes one NAME.toml, not 2"},
		{"unknown flag", []string{"run", "--fast", "a.toml"}, "-fast"},
		{"unknown flag after the file", []string{"check", "a.toml", "--fast"}, "-fast"},
		{"flag of another command", []string{"check", "--quiet", "a.toml"}, "-quiet"},
		{"flag without a value", []string{"run", "a.toml", "--directory"}, "-directory"},
		{"no such file", []string{"run", "/no/such/file.toml"}, "/no/such/file.toml: no such file or " +
			"directory"},
		{"no such file to check", []string{"check", "/no/such/file.toml"}, "/no/such/file.toml: no such " +
			"file or directory"},
		{"a directory", []string{"check", "/"}, "/ is not a regular file"},
		{"unknown mode", []string{"run", "--reboot", "warm", "a.toml"}, "--reboot must be one of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// what krunctl run and check hand on does not send its user to another program
			own := !strings.Contains(test.want, "/") && !strings.Contains(test.want, "--reboot")
			code, stdout, stderr := krund(t, test.args...)
			must.Be(t, code == exitUsage && stdout == "" && strings.Contains(stderr, test.want) &&
				strings.Contains(stderr, "krund help") == own, "status", code, "stdout", stdout, "stderr",
				stderr, "want", test.want)
		})
	}
}

func TestParseRun(t *testing.T) {
	here := must.Get(os.Getwd())(t)
	for _, test := range []struct {
		args string
		want runOptions
	}{
		{"/x/a.toml", runOptions{path: "/x/a.toml", directory: "/x/a.krun"}},
		{"sub/a.toml", runOptions{path: here + "/sub/a.toml", directory: here + "/sub/a.krun"}},
		{"/x/odd", runOptions{path: "/x/odd", directory: "/x/odd.krun"}},
		{"--quiet /x/a.toml --directory d --reboot none", runOptions{path: "/x/a.toml",
			directory: here + "/d",
			reboot:    "none", quiet: true}},
		{"--verbose --reboot=hardware -folder=/y/z/../w /x/a.toml",
			runOptions{path: "/x/a.toml", directory: "/y/w", former: true, reboot: "hardware",
				verbose: true}},
	} {
		got, err := parseRun(strings.Fields(test.args))
		must.Be(t, err == nil && got == test.want, test.args, got, "error", err, test.want)
	}
}

// TestNoWorkingDirectory: a relative path in a working directory that was removed.
func TestNoWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	here := must.Get(os.Getwd())(t)
	if err := os.Remove(here); err != nil {
		t.Skip("this system does not remove a working directory:", err)
	}
	t.Setenv("PWD", "") // os.Getwd believes it
	for _, args := range [][]string{{"run", "x.toml"}, {"check", "x.toml"},
		{"run", "--directory", "x.krun", "/no/such.toml"}} {
		code, stdout, stderr := krund(t, args...)
		must.Be(t, code == exitError && stdout == "" && strings.Contains(stderr, "the working directory") &&
			strings.Contains(stderr, "cd to a directory that exists"), args, "status", code, "stdout", stdout,
			"stderr", stderr)
	}
}

func TestStatus(t *testing.T) {
	mistakes := config.Errors{{File: "a.toml", Line: 3, What: "x", Fix: "y"},
		{File: "a.toml", Line: 4, What: "z", Fix: "w"}}
	for _, test := range []struct {
		name   string
		err    error
		code   int
		stderr string
	}{
		{"well", nil, exitOK, ""},
		{"interrupted", fmt.Errorf("a: %w", errInterrupted), exitInterrupted, ""},
		{"said already", errSilent, exitError, ""},
		{"mistakes in the configuration", fmt.Errorf("a: %w", mistakes), exitUsage,
			"a.toml:3: x; y\na.toml:4: z; w\n"},
		{"usage", usageError{"no"}, exitUsage, "krund: no\n"},
		{"other", errors.New("disk on fire"), exitError, "krund: disk on fire\n"},
		{"a name that a benchmark chose", errors.Join(errors.New("remove \x1b]0;x\a\r\u202e"),
			errors.New("b")), exitError, "krund: remove \uFFFD]0;x\uFFFD\uFFFD\uFFFD\nb\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := status(test.err, &stderr); code != test.code || stderr.String() != test.stderr {
				t.Errorf("%d, %q; want %d, %q", code, stderr.String(), test.code, test.stderr)
			}
		})
	}
}

// TestDirectoryByABystandersLink: a link that a user has put into a directory for all leads root
// nowhere.
func TestDirectoryByABystandersLink(t *testing.T) {
	must.Root(t, "only root can be led")
	public, secret := t.TempDir(), t.TempDir()
	link := filepath.Join(public, "demo.krun")
	for _, err := range []error{
		os.Chmod(public, 0o777|os.ModeSticky), os.Symlink(secret, link), os.Lchown(link, 4711, 4711),
	} {
		must.Do(t, err)
	}
	must.Refused(makeDirectory(link, config.RebootNone))(t, "", "the link was followed")
	made, err := os.ReadDir(secret)
	must.Be(t, err == nil && len(made) == 0, "root has made", made, err)
}

// TestCensusCPUs: all but the lowest by default, the only one of a small machine, and a list.
func TestCensusCPUs(t *testing.T) {
	for _, test := range []struct{ online, list, want, refused string }{
		{"0-3", "", "1-3", ""}, {"0", "", "0", ""}, {"0-3", "0,2", "0,2", ""},
		{"0-3", "4", "", "may use only 0-3"}, {"0-3", "x", "", "CPU number"},
	} {
		dir := t.TempDir()
		must.Write(t, filepath.Join(dir, "sys/devices/system/cpu/online"), test.online+"\n")
		m := &control.Machine{Host: host.Host{Root: sysroot.New(dir)}}
		cpus, err := censusCPUs(m, control.Defaults(), test.list)
		must.Be(t, (test.refused != "" || err == nil && cpus.String() == test.want) && (test.refused == "" ||
			err != nil && strings.Contains(err.Error(), test.refused)), test.list, "of", test.online, cpus,
			err)
	}
}

// TestKeepCertificate: an experiment keeps the certificate of the machine as it is, and of no other
// state of it.
func TestKeepCertificate(t *testing.T) {
	c := noise.Certificate{Fingerprint: map[string]string{"kernel.release": "6.1", "bios.version": "A25"}}
	must.Equal(t, len(noise.Changed(c, map[string]string{"kernel.release": "6.1", "new": "x"})), 0)
	got := noise.Changed(c, map[string]string{"kernel.release": "6.12", "bios.version": "A26"})
	must.Equal(t, strings.Join(got, ", "), "bios.version A25 -> A26, kernel.release 6.1 -> 6.12")
}
