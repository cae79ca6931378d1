package child

import (
	"cmp"
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
)

// The steps of results.StartFailure.
const (
	stepStage       = "stage" // krund's own part, before the Command
	stepGroup       = "group"
	stepDescriptors = "descriptors" // closing what the benchmark must not inherit
	stepCounters    = "counters"    // perf events of the benchmark's own thread
	stepKeyrings    = "keyrings"
	stepPriority    = "priority"
	stepProcessors  = "processors"
	stepSignals     = "signals"
	stepAddresses   = "addresses" // switching their randomization off
	stepLimits      = "limits"
	stepUser        = "user"
	stepPrivileges  = "privileges"
	stepDirectory   = "directory"
	stepStamp       = "stamp"
	stepExec        = "exec"
)

// explain describes a failed report. stat is fs.Stat of the real tree.
func explain(r report, c Command, stat func(string) (fs.FileInfo, error)) *results.StartFailure {
	f := &results.StartFailure{Step: r.Step, Errno: unix.ErrnoName(syscall.Errno(r.Errno))}
	why := r.Text
	why = cmp.Or(why, syscall.Errno(r.Errno).Error())
	switch r.Step {
	case stepExec:
		f.Text = fmt.Sprintf("execute %s: %s%s", c.Path, why, execHint(syscall.Errno(r.Errno), c, stat))
	case stepDirectory:
		f.Text = fmt.Sprintf("enter the working directory %s as %s: %s; "+
			"it must exist and be open to that user",
			c.dir(), c.User, why)
	case stepUser:
		f.Text = fmt.Sprintf("become user %s: %s; only root can change the user", c.User, why)
	case stepLimits:
		f.Text = fmt.Sprintf("set limits.heap to %d and limits.stack to %d bytes: %s; "+
			"an ordinary user cannot go above the hard limits of ulimit -H",
			c.Limits.Heap, c.Limits.Stack, why)
	case stepProcessors:
		f.Text = fmt.Sprintf("run on processors %v only: %s", c.CPUs, why)
	default:
		f.Text = fmt.Sprintf("%s: %s", r.Step, why)
	}
	return f
}

// execHint explains what execve's error number leaves open.
func execHint(errno syscall.Errno, c Command, stat func(string) (fs.FileInfo, error)) string {
	info, err := stat(c.Path)
	switch {
	case errno == syscall.ENOENT && err == nil:
		return "; the file is there, but the interpreter in its first line, or its loader, is not"
	case errno == syscall.ENOENT:
		return "; check the path in the configuration"
	case errno == syscall.EACCES && err == nil && info.IsDir():
		return "; it is a directory"
	case errno == syscall.EACCES && err == nil && info.Mode().Perm()&0o111 == 0:
		return "; the file is not executable: chmod +x"
	case errno == syscall.EACCES:
		return fmt.Sprintf("; every directory on the way must be open to %s, "+
			"and the file system not be mounted noexec", c.User)
	case errno == syscall.ENOEXEC:
		return "; not a program of this machine, and no script with a #! line either"
	case errno == syscall.E2BIG:
		return "; arguments and environment must fit into a quarter of limits.stack"
	case errno == syscall.ENOMEM:
		return "; limits.heap and limits.stack leave no room for the program itself"
	}
	return ""
}
