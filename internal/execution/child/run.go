package child

import (
	"fmt"
	"time"
)

// Run is what happened. Every field is data; internal/execution/verdict judges it.
type Run struct {
	Pid int // the benchmark's process number; 0 when no process was started at all

	// NotStarted is nil when the benchmark's program was executed. Otherwise it names the step
	// before that which failed, and Exit and Signal are empty: they never describe the stage.
	NotStarted *StartFailure

	Exit        *int   // exit status; nil when a signal ended the benchmark or it never started
	Signal      string // such as "SIGSEGV"; empty when it exited by itself
	TimedOut    bool   // Limits.Timeout passed and krund killed it
	Interrupted bool   // the context was canceled and krund killed it

	Wall  time.Duration // from just before the fork until krund saw the end
	UTime time.Duration // processor time in user mode of the benchmark and those descendants it waited for
	STime time.Duration // the same in kernel mode
	// MaxRSS is the largest resident size in bytes of the benchmark or of one descendant it waited
	// for. The kernel includes the size during krund's own start: a value that equals MaxRSSFloor
	// means "at most that".
	MaxRSS              int64
	MaxRSSFloor         int64
	MinorFaults         int64
	MajorFaults         int64
	VoluntarySwitches   int64
	InvoluntarySwitches int64

	Stdout Output
	Stderr Output

	// Strays counts the processes besides the benchmark itself that krund had to kill or reap:
	// those that outlived it or had detached from it.
	Strays   int
	OOMKills int // processes killed by the OOM killer during the run: in the group, or on the machine

	Cgroup       string // the control group used, from the top of the hierarchy; empty when none
	CgroupReason string // why none was used although asked for
	Processes    int64  // Limits.Processes if it was enforced, else 0
	EnvBytes     int    // see EnvBytes
	Seen         Seen   // the process as it found itself just before execve

	// Findings are remarks for the record, each a sentence: what was refused, left over, or
	// unusual.
	Findings []string

	Daemon DaemonUsage
}

// Seen is what the stage read back just before it became the benchmark.
type Seen struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Groups []int  `json:"groups"`
	Nice   int    `json:"nice"`
	Policy string `json:"policy"` // scheduling policy, such as "SCHED_OTHER"; empty where unknown
	CPUs   []int  `json:"cpus"`   // nil where unknown
	// Soft limits in bytes (for Files a number of descriptors, for Processes one of processes and
	// threads); -1 means unlimited.
	Heap      int64 `json:"heap"`
	Stack     int64 `json:"stack"`
	Core      int64 `json:"core"`
	Files     int64 `json:"files"`
	Processes int64 `json:"processes"`
}

// StartFailure is why the benchmark could not be started: an outcome of the run, not an error of
// krund.
type StartFailure struct {
	Step  string // what was being done, such as "exec", "chdir", "user", "limits"
	Errno string // the system's name of the failure, such as "ENOENT"; empty when there is none
	Text  string // a sentence with path and next step
}

func (f *StartFailure) String() string { return fmt.Sprintf("could not start: %s", f.Text) }

// Output is what the benchmark wrote to one of its standard streams.
type Output struct {
	// Text is valid UTF-8: other bytes are replaced by U+FFFD. When Truncated, it is the first and
	// the last half of the limit, with a line between them that says how many bytes are left out.
	Text      string
	Bytes     int64 // everything written, kept or not
	Truncated bool
}

// DaemonUsage is what the daemon itself used while the benchmark ran: all its threads, from the
// start of the stage until the end of the benchmark was seen.
type DaemonUsage struct {
	CPU                 time.Duration
	VoluntarySwitches   int64
	InvoluntarySwitches int64
	RSSBefore           int64 // resident bytes as the wait began
	RSS                 int64 // resident bytes as it ended

	// WakeUps is how often its threads were scheduled onto a processor, from just before the fork
	// of the stage; nil where unknown.
	WakeUps *int64
	// CPUs are the processors it was bound to; nil when it was not.
	CPUs []int
	// KernelThreads is what the kernel's own threads did during the run; nil where unknown.
	KernelThreads *KernelThreads
}
