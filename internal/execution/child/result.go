package child

import (
	"errors"
	"fmt"
	"io"
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
		fillUsage(run, resourceUsageOf(&rusage), r.Cost)
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
func fillUsage(run *Run, total, start resourceUsage) {
	run.UTimeNS = max(total.UserNS-start.UserNS, 0)
	run.STimeNS = max(total.SystemNS-start.SystemNS, 0)
	run.MaxRSSBytes, run.MaxRSSFloorBytes = total.MaxRSS, start.MaxRSS
	run.MinorFaults = max(total.MinorFaults-start.MinorFaults, 0)
	run.MajorFaults = max(total.MajorFaults-start.MajorFaults, 0)
	run.VoluntarySwitches = max(total.Voluntary-start.Voluntary, 0)
	run.InvoluntarySwitches = max(total.Involuntary-start.Involuntary, 0)
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
