package child

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"krund/internal/display"
	"krund/internal/experiment/results"
)

// fill stores in run what is known after the end.
func (s *execution) fill(run *Run) error {
	text, err := io.ReadAll(statusReader(s.status[0]))
	if err != nil {
		return fmt.Errorf("read the stage's report: %w", err)
	}
	r, err := parseStatus(text)
	if err != nil {
		return err
	}
	run.Stdout, run.Stderr = s.stdout.keep.output(), s.stderr.keep.output()
	switch {
	case s.cgroup == nil:
		run.CgroupReason = s.cgroupReason
	case r.GroupError != "":
		run.CgroupReason = fmt.Sprintf("enter control group %s: %s", s.cgroup.name, r.GroupError)
	case r.Ready:
		run.Cgroup = s.cgroup.name
	}
	run.Seen = r.Seen
	run.UID, run.GID, run.Nice, run.Policy, run.Affinity = r.Seen.UID, r.Seen.GID, r.Seen.Nice, r.Seen.Policy,
		r.Seen.CPUs
	if n := s.command.Limits.Processes; r.Ready &&
		(s.limitsProcesses && run.Cgroup != "" || n == r.Seen.Processes) {
		run.Processes = n
	}
	run.Strays = s.tree.count()
	status, rusage, reaped := s.tree.result()
	if reaped {
		fillUsage(run, rusage, r.Cost)
	}
	s.fillEnd(run, r, status, reaped)
	run.Findings = s.findings(*run, r)
	return nil
}

// fillEnd stores how the process ended: as the benchmark, or before it became the benchmark.
func (s *execution) fillEnd(run *Run, r report, status unix.WaitStatus, reaped bool) {
	switch {
	case r.Step != "":
		run.NotStarted = explain(r, s.command, os.Stat)
	case !r.Ready:
		run.NotStarted = &results.StartFailure{Step: stepStage, Text: stageEnd(*run, status)}
	case reaped && status.Exited():
		code := status.ExitStatus()
		run.Exit = &code
	case reaped && status.Signaled():
		run.Signal = signalName(status.Signal())
	}
}

// stageEnd explains how a stage without a report ended.
func stageEnd(run Run, status unix.WaitStatus) string {
	switch {
	case run.TimedOut:
		return "the time limit passed before the benchmark was executed"
	case run.Interrupted:
		return "interrupted before the benchmark was executed"
	case status.Signaled():
		return "krund's own part of the start was killed by " + signalName(status.Signal())
	}
	return fmt.Sprintf("krund's own part of the start ended with exit status %d and without a report; "+
		"does main call child.Stage first?", status.ExitStatus())
}

// fillUsage stores what the benchmark used: everything counted for the process minus its start.
func fillUsage(run *Run, total, start unix.Rusage) {
	run.UTimeNS = max(total.Utime.Nano()-start.Utime.Nano(), 0)
	run.STimeNS = max(total.Stime.Nano()-start.Stime.Nano(), 0)
	run.MaxRSSBytes, run.MaxRSSFloorBytes = int64(total.Maxrss)*rssUnit, int64(start.Maxrss)*rssUnit
	run.MinorFaults = max(int64(total.Minflt-start.Minflt), 0)
	run.MajorFaults = max(int64(total.Majflt-start.Majflt), 0)
	run.VoluntarySwitches = max(int64(total.Nvcsw-start.Nvcsw), 0)
	run.InvoluntarySwitches = max(int64(total.Nivcsw-start.Nivcsw), 0)
}

// findings are what a reader of the record should know.
func (s *execution) findings(run Run, r report) []string {
	out := slices.Clone(s.remarks)
	for _, text := range r.Remarks {
		out = append(out, "refused, continued without: "+text)
	}
	if s.cleared > 0 {
		out = append(out, fmt.Sprintf("killed %d processes of an earlier run in control group %s",
			s.cleared, s.cgroup.name))
	}
	if run.OOMKills > 0 {
		out = append(out, fmt.Sprintf("the OOM killer killed %d processes", run.OOMKills))
	}
	if run.Signal == "SIGKILL" && !run.TimedOut && !run.Interrupted {
		out = append(out, "killed by SIGKILL, which krund did not send: memory ran out, "+
			"the program cannot be loaded under its limits, or another process killed it")
	}
	if run.Strays > 0 {
		out = append(out, fmt.Sprintf("%d further processes of the benchmark had to be killed or reaped",
			run.Strays))
	}
	const lines, size = 100, 16 << 10 // a benchmark may leave thousands of processes behind
	return display.ClipLines(append(out, s.tree.leftovers()...), lines, size)
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
}

// statusReader reads what the report's pipe contains, without waiting.
type statusReader int

func (fd statusReader) Read(p []byte) (int, error) {
	n, err := unix.Read(int(fd), p)
	if n <= 0 && (err == nil || errors.Is(err, unix.EAGAIN)) {
		return 0, io.EOF
	}
	return max(n, 0), err
}

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

// The stage reports on a pipe that execve closes: at most one line of JSON, the report, and after
// it at most one failure of fixed size. Once its memory limit is in force the stage must not
// allocate, so that failure is three bytes written by hand.

// report is the stage's line.
type report struct {
	Ready      bool        `json:"ready"`                 // only limits, stamp and execve are left
	Step       string      `json:"step,omitempty"`        // what failed, when not ready
	Errno      int         `json:"errno,omitempty"`       // how; 0 when it was no system call
	Text       string      `json:"text,omitempty"`        // the error's text
	Remarks    []string    `json:"remarks,omitempty"`     // what was refused but can be done without
	GroupError string      `json:"group_error,omitempty"` // why the control group could not be entered
	Seen       Seen        `json:"seen"`
	Cost       unix.Rusage `json:"cost"` // what the kernel has counted so far
}

// The steps that are left after the report.
const (
	lateLimits byte = 'l'
	lateStamp  byte = 's'
	lateExec   byte = 'x'
)

// lateBytes is the size of a failure after the report: step, errno low byte, errno high byte.
const lateBytes = 3

// parseStatus reads what the stage wrote to the pipe. An empty pipe is not an error: the stage died
// before its report.
func parseStatus(text []byte) (report, error) {
	if len(text) == 0 {
		return report{}, nil
	}
	line, late, whole := bytes.Cut(text, []byte{'\n'})
	if !whole {
		return report{}, fmt.Errorf("the stage's report is cut short: %.200q", text)
	}
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		return report{}, fmt.Errorf("the stage's report: %w", err)
	}
	if len(late) == 0 || !r.Ready {
		return r, nil
	}
	if len(late) < lateBytes {
		return report{}, fmt.Errorf("the stage's failure is cut short: %q", late)
	}
	r.Ready = false
	r.Errno = int(late[1]) | int(late[2])<<8
	switch late[0] {
	case lateLimits:
		r.Step = stepLimits
	case lateStamp:
		r.Step = stepStamp
	case lateExec:
		r.Step = stepExec
	default:
		return report{}, fmt.Errorf("the stage's failure is of unknown kind %q", late[0])
	}
	return r, nil
}
