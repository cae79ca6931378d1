//go:build linux

package main

import (
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

	"krund/rig/must"
)

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
	e := newExperiment(t)
	e.c("good", good)
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
		for _, want := range []string{"[1/2] ", "settling 0.0s of 1.0s", "running", "[2/2] "} {
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
