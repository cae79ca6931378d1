package command

import (
	"context"
	"strings"
	"time"
)

// systemDirs are the directories of the system's programs.
var systemDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// System runs programs of the system, such as systemctl or sysctl. They are searched in fixed
// directories, never in the PATH of the process that started krund, and get a plain environment. A
// service that one starts keeps running.
type System struct {
	Dirs    []string      // nil means the system's directories
	Timeout time.Duration // 0 means two minutes: stopping a service may take 90 seconds
}

// Output runs a program and returns its standard output, at most 16 MiB: the longest is a kernel
// log of a few MiB. The error quotes the last line of standard error; see Run.
func (s System) Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	dirs, timeout := s.Dirs, s.Timeout
	if dirs == nil {
		dirs = systemDirs
	}
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	out, err := Run(ctx, Cmd{
		Argv: append([]string{name}, args...), Search: dirs, Env: PlainEnv(dirs),
		Timeout: timeout, Output: 16 << 20, StdoutOnly: true, KeepGroup: true,
	})
	return []byte(out), err
}

// PlainEnv is the environment of a program of the system: messages in English, and a PATH of dirs.
func PlainEnv(dirs []string) []string {
	return []string{"LC_ALL=C", "PATH=" + strings.Join(dirs, ":")}
}
