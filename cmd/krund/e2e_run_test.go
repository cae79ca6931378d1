//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/experiment/starter"
	"krund/rig/must"
)

// quick makes an experiment of two keys with waits that no test could survive.
func quick(t *testing.T) *experiment {
	t.Helper()
	e := newExperiment(t)
	e.iterations, e.executions = 500, 7
	e.c("first", good)
	e.c("second", good)
	text := strings.Replace(e.config(), "startup = \"0s\"\nsync = \"0s\"",
		"startup = \"5h\"\nsync = \"5h\"", 1)
	text = strings.Replace(text, "base_wait = \"0s\"", "base_wait = \"5h\"", 1)
	e.write("test.toml", strings.Replace(text, "reboot = \"none\"", "reboot = \"hardware\"", 1))
	return e
}

func (e *experiment) krund(args ...string) ended {
	e.t.Helper()
	return startKrund(e.t, filepath.Join(scratch, "prefix"),
		append(args, filepath.Join(e.dir, "test.toml"))...).wait()
}

// TestQuick: two short executions of each key, without waits and reboots, in a directory of their
// own, and under a name that says so. The same command begins anew, with other contents of the
// file, too.
func TestQuick(t *testing.T) {
	e := quick(t)
	e.krund("run", "--quick").want(t, exitOK, "test-quick.krun")
	e.krund("run", "--quick").want(t, exitOK, "the results of the earlier quick run are removed")
	text := must.Get(os.ReadFile(filepath.Join(e.dir, "test.toml")))(e.t)
	e.write("test.toml", "# changed\n"+string(text))
	e.krund("run", "--dry-run", "--quick").want(t, exitOK, "would run 4 of 4")
	e.krund("run", "--quick").want(t, exitOK, "the results of the earlier quick run are removed")
	must.Refused(os.Lstat(e.directory))(t, "", "the directory of the experiment was created")
	n := 0
	records := filepath.Join(e.dir, "test-quick.krun/results")
	for r, err := range results.NewReader(durable.OS(), records).All() {
		e.must(err)
		n++
		must.Be(t, r.Experiment == "test-quick" && r.Iterations == 20 && r.Reboot == results.RebootNone &&
			len(r.WallNS) == 20, r.Experiment, "with", r.Iterations, "iterations, reboot", r.Reboot)
	}
	must.Equal(t, n, 4, "records, want 2 of each key")
	e.krund("run", "--quick", "--reboot", "hardware").want(t, exitUsage, "--quick runs without reboots")
}

// TestDryRun: what would run is printed, and nothing is created.
func TestDryRun(t *testing.T) {
	e := quick(t)
	before := listing(t, e.dir)
	r := e.krund("run", "--dry-run", "--reboot", "none")
	r.want(t, exitOK, "would run 14 of 14 process executions of 2 keys, without reboots, with results in "+
		e.directory, "  run   first:C:so, 7 executions of 500 iterations\n", "nothing was started")
	e.krund("run", "--dry-run", "--quick").want(t, exitOK, "would run 4 of 4",
		"2 executions of 20 iterations")
	must.Equal(t, listing(t, e.dir), before, "files before", "and after")
}

// withKrunctl installs krund in a directory of its own, beside a shell script as krunctl.
func (e *experiment) withKrunctl(script string) (prefix string) {
	e.t.Helper()
	prefix = filepath.Join(e.dir, "prefix")
	e.must(errors.Join(os.MkdirAll(filepath.Join(prefix, "bin"), 0o755),
		os.Link(filepath.Join(scratch, "prefix", "bin", "krund"), filepath.Join(prefix, "bin", "krund")),
		os.Symlink(filepath.Join(scratch, "prefix", "lib"), filepath.Join(prefix, "lib")),
		os.Symlink(filepath.Join(scratch, "prefix", "libexec"), filepath.Join(prefix, "libexec"))))
	e.write(filepath.Join("prefix", "bin", "krunctl"), "#!/bin/sh\n"+script)
	return prefix
}

// TestDecideMisbehaves: whatever krunctl status --decision does, all executions are run and
// counted, and the log has the reasons. The script misbehaves in another way after each execution,
// and at last replaces itself.
func TestDecideMisbehaves(t *testing.T) {
	t.Parallel()
	attacks := []struct{ script, why string }{
		{"exit 0", "EOF"},
		{"head -c 100000000 /dev/zero", "longer than"},
		{"kill -KILL $$", "signal: killed"},
		{`ln -sf ../test.toml "$d"; exit 4`, "exit status 4"},
		{`rm -f "$d"; head -c 5000 /dev/zero >"$d"; exit 5`, "exit status 5"},
		{`rm -f "$d"; mkfifo "$d"; exit 6`, "exit status 6"},
		{`rm -f "$d"; mkdir "$d"; exit 7`, "exit status 7"},
		{`rmdir "$d"; rm "$0"; mkdir "$0"; exit 8`, "exit status 8"},
	}
	var script strings.Builder
	script.WriteString(`here=$(dirname "$0"); d="$here/../../test.krun/decisions.json"
echo >>"$here/calls"
case $(wc -l <"$here/calls") in
`)
	for i, attack := range attacks {
		fmt.Fprintf(&script, "%d) %s;;\n", i+1, attack.script)
	}
	script.WriteString("esac\n")
	e := goodExperiment(t)
	e.executions, e.extra = len(attacks)+1, "[stop]\nrules = [\"halfwidth\"]\n"
	prefix, text := e.withKrunctl(script.String()), e.config()
	config := e.write("test.toml", text)
	startKrund(t, prefix, "run", "--directory", e.directory, config).wait().want(t, exitOK)
	must.Equal(t, e.flags(), strings.Repeat("C", e.executions), "slots")
	log := must.Get(os.ReadFile(filepath.Join(e.directory, "log")))(e.t)
	for _, attack := range attacks {
		must.Contain(t, string(log), attack.why, "after", attack.script, "the log")
	}
	now, err := os.ReadFile(config)
	must.Be(t, err == nil && string(now) == text, "what the link led to was changed", err)
}

// TestDecideMissing: an experiment that has started goes on without krunctl; another one does not
// start.
func TestDecideMissing(t *testing.T) {
	t.Parallel()
	e := goodExperiment(t)
	e.executions, e.extra = 4, "[stop]\nrules = [\"halfwidth\"]\n"
	prefix := e.withKrunctl(`mv "$0" "$0".away; kill -INT $PPID; exec sleep 1000`)
	program := filepath.Join(prefix, "bin", "krunctl")
	config := e.write("test.toml", e.config())
	run := func() ended { return startKrund(t, prefix, "run", "--directory", e.directory, config).wait() }
	e.must(os.Rename(program, program+".away"))
	run().want(t, exitError, "stop.rules needs krunctl beside krund")
	e.must(os.Rename(program+".away", program))
	run().want(t, exitInterrupted)
	_, err := os.Stat(program)
	must.Need(t, errors.Is(err, os.ErrNotExist), err)
	run().want(t, exitOK)
	must.Equal(t, e.flags(), "CCCC", "slots", "want CCCC")
}

// TestFirstExperiment: what krunctl init writes runs, in the languages that are here and as a
// command.
func TestFirstExperiment(t *testing.T) {
	must.Do(t, install())
	prefix := filepath.Join(scratch, "prefix")
	for _, c := range []struct {
		language, program string
		command           []string
	}{
		{"c", "cc", nil}, {"python", "python3", nil}, {"javascript", "node", nil}, {"java", "javac", nil},
		{"ruby", "ruby", nil}, {"lua", "luajit", nil}, {"php", "php", nil}, {"go", "go", nil},
		{"rust", "rustc", nil}, {"", "true", []string{"true"}},
	} {
		t.Run(c.language+c.program, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			e := must.Get(
				starter.New("first", c.language, c.command, filepath.Join(prefix, "libexec/krund")))(t)
			config := filepath.Join(dir, "first.toml")
			must.Do(t, e.Write(dir))
			if e.Build != "" {
				build := exec.Command("sh", "-c", e.Build)
				build.Dir = filepath.Dir(filepath.Join(dir, e.File))
				out, err := build.CombinedOutput()
				must.Do(t, err, out)
			}
			startKrund(t, prefix, "run", "--quick", config).wait().want(t, exitOK, "completed")
		})
	}
}

// TestFinishedAndChanged: who starts a finished experiment again with another program is told that
// the results are of the one before.
func TestFinishedAndChanged(t *testing.T) {
	must.Do(t, install())
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	prefix, dir := filepath.Join(scratch, "prefix"), t.TempDir()
	e := must.Get(starter.New("first", "python", nil, prefix))(t)
	e.Config = strings.NewReplacer("executions = 5", "executions = 1", "iterations = 200",
		"iterations = 2").Replace(e.Config)
	must.Do(t, e.Write(dir))
	config := filepath.Join(dir, "first.toml")
	startKrund(t, prefix, "run", config).wait().want(t, exitOK, "completed")
	startKrund(t, prefix, "run", config).wait().want(t, exitOK, "nothing is outstanding")
	must.Do(t, os.WriteFile(filepath.Join(dir, e.File), []byte(e.Text+"# other\n"), 0o644))
	startKrund(t, prefix, "run", config).wait().want(t, exitOK, "has changed since it was measured")
}

// TestPreviousVersion continues an experiment of which an earlier version recorded two of three
// executions (testdata/previous, written by commit 40aea0f). Its configuration states an option of
// nearly every control: if the schedule is still accepted, the hash of the configuration has not
// changed. The flag by its former name is accepted, with a notice.
func TestPreviousVersion(t *testing.T) {
	t.Parallel()
	e := goodExperiment(t)
	text := must.Get(os.ReadFile("testdata/previous/test.toml"))(e.t)
	e.write("test.toml", string(text))
	e.must(os.CopyFS(e.directory, os.DirFS("testdata/previous/directory")))
	out := startKrund(t, filepath.Join(scratch, "prefix"), "run", "--folder", e.directory,
		filepath.Join(e.dir, "test.toml")).wait()
	out.want(t, exitOK, "[3/3]", "--folder is deprecated; use --directory")
	records := e.records()
	must.Need(t, len(records) == 3, len(records), "records, want 3")
	for i, r := range records {
		must.Be(t, r.Outcome == results.Completed && r.Pexec == i+1 && len(r.WallNS) == 5 &&
			r.ConfigHash == records[0].ConfigHash, "record", i, r)
	}
	for _, name := range []string{"results/0000000-001.json.gz", "results/0000001-001.json.gz"} {
		before := must.Get(os.ReadFile(filepath.Join("testdata/previous/directory", name)))(e.t)
		after := must.Get(os.ReadFile(filepath.Join(e.directory, name)))(e.t)
		must.Be(t, bytes.Equal(before, after), name, "has changed")
	}
}

// TestVariableOfTheUnit: a person who has the unit's variable in the environment is still a person:
// nothing is disabled and no notification is sent if the experiment cannot be opened. The packages'
// tests and rig/install have a krund that its unit started.
func TestVariableOfTheUnit(t *testing.T) {
	e := goodExperiment(t)
	inbox := filepath.Join(e.dir, "inbox")
	script := e.write("tell", "#!/bin/sh\n{ echo \"$KRUND_EVENT $KRUND_SUBJECT\"; cat; } >>"+inbox+"\n")
	e.extra = "[notify]\ncommand = [\"" + script + "\"]\n"
	e.run().want(t, 0)
	text, err := os.ReadFile(inbox)
	must.Be(t, err == nil && strings.Contains(string(text), "finished "), "notifications", text, err)
	e.must(os.Remove(inbox))
	e.iterations = 7 // a configuration cannot be changed
	e.write("test.toml", e.config())
	t.Setenv(unitVariable, "krund@no-such-unit-of-a-test.service")
	r := e.run()
	r.want(t, 1, "another configuration")
	if _, err := os.Stat(inbox); err == nil || strings.Contains(r.stderr, "disabled") {
		t.Errorf("krund gave up like one that a unit has started: %s", r.stderr)
	}
}

// terminal returns both ends of a pseudo terminal with 80 columns.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	return master, slave
}

// TestTerminal runs krund on a terminal of 80 columns: the live line names the steps, fits, and is
// never glued to a message.
func TestTerminal(t *testing.T) {
	e := goodExperiment(t)
	e.executions = 2
	config := e.write("test.toml", strings.Replace(e.config(), "startup = \"0s\"", "startup = \"1s\"", 1))
	for _, color := range []bool{true, false} {
		master, slave := terminal(t)
		c := exec.CommandContext(t.Context(), filepath.Join(scratch, "prefix", "bin", "krund"), "run",
			"--directory", filepath.Join(t.TempDir(), "x.krun"), config)
		c.Env = append(os.Environ(), "TERM=xterm")
		if !color {
			c.Env = append(c.Env, "NO_COLOR=1")
		}
		c.Stdout, c.Stderr = slave, slave
		must.Do(t, c.Start())
		_ = slave.Close()
		output, _ := io.ReadAll(master) // ends with EIO when the last writer has closed it
		must.Do(t, c.Wait(), output)
		text := strings.ReplaceAll(string(output), "\r\n", "\n")
		states, stayed := lines(text)
		all := strings.Join(states, "\n")
		for _, want := range []string{"[1/2] ", "settling, at most 1.0s", "running", "[2/2] "} {
			must.Contain(t, all, want)
		}
		plain := strings.NewReplacer("\x1b[2m", "", "\x1b[32m", "", "\x1b[0m", "")
		for _, line := range states {
			n := utf8.RuneCountInString(plain.Replace(line))
			live := !slices.Contains(stayed, line)
			must.Be(t, (!live || n <= 79) && (!strings.Contains(line, "left") || n <= 80), n, "columns", line)
		}
		for _, line := range stayed {
			must.Be(t, !strings.Contains(line, "running") && !strings.Contains(line, "settling"), "glued",
				line)
		}
		must.Equal(t, strings.Contains(text, "\x1b[32mcompleted"), color, "colored", text)
	}
}
