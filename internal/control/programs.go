package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Programs runs the small programs of the system. They are looked for in Dirs only, never in the PATH of whoever started krund; they get
// a plain environment, no shell, a process group of their own and a deadline.
type Programs struct {
	Dirs    []string      // nil is the system's directories
	Timeout time.Duration // 0 is two minutes: stopping a service may take 90 seconds
}

var systemDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// outputLimit bounds what is kept of a program's output, in bytes. The longest is a kernel log, of at most a few MiB.
const outputLimit = 16 << 20

// Output runs a program and returns what it printed on standard output. The error quotes the last line of standard error.
func (p Programs) Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := p.find(name)
	if err != nil {
		return nil, err
	}
	timeout := p.Timeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + strings.Join(p.dirs(), ":")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, complaint := limited{most: outputLimit}, limited{most: 64 << 10}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // the program ended well; a service that it has started holds its output open
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("run %s: %w%s", strings.Join(append([]string{name}, args...), " "), err, lastLine(complaint.String()))
	}
	return out.Bytes(), nil
}

func (p Programs) dirs() []string {
	if p.Dirs == nil {
		return systemDirs
	}
	return p.Dirs
}

// find returns the path of a program. A directory that cannot be looked into only matters when none of the others has it.
func (p Programs) find(name string) (string, error) {
	var unseen error
	for _, dir := range p.dirs() {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && unseen == nil:
			unseen = err
		}
	}
	if unseen != nil {
		return "", fmt.Errorf("look for %s: %w", name, unseen)
	}
	return "", fmt.Errorf("%s is not installed: %w", name, exec.ErrNotFound)
}

// limited keeps the first bytes written to it and throws the rest away.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// lastLine returns ": " and the last line of a text that is not empty, else "".
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	return ": " + clip(last)
}
