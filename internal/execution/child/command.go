package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// DefaultOutput is how many bytes of standard output, and of standard error, a Run keeps when
// Limits.Output is zero.
const DefaultOutput = 1 << 20

// Command is what to run and how. Run neither changes nor retains it.
type Command struct {
	// Path is the absolute path of the program.
	Path string
	// Args is the whole argument vector; Args[0] is the program's own name. Empty means just Path.
	Args []string
	// Env is the benchmark's whole environment as "NAME=value", in this order. Bytes are passed
	// unchanged.
	Env []string
	// Dir is the absolute working directory, entered as User. Empty means "/".
	Dir string
	// User is the user that the benchmark runs as; zero means the caller.
	User User
	// KillUser ends every process of User. It is called when processes fork faster than they can be
	// found one by one. Nil means that other programs may use User as well.
	KillUser func(context.Context) error `json:"-"`
	// Limits bound memory, output and time.
	Limits Limits
	// Nice is the scheduling priority, -20 (highest) to 19. If the system refuses a negative one,
	// that is a finding.
	Nice int
	// CPUs are the processors the benchmark may run on; nil means those of krund itself.
	CPUs []int
	// DaemonCPUs are the processors that krund is bound to during the run; nil means no change. A
	// refusal is a finding.
	DaemonCPUs []int
	// Cgroup is the control group (version 2) the benchmark runs in: a name below krund's own group
	// or, with a leading slash, a path from the top of the hierarchy. It is created when absent and
	// kept, because creating groups takes time. Empty means none. If no group is available, the
	// run continues without one, and Run.CgroupReason is the reason.
	Cgroup string
	// Inherit leaves the process the umask, the limit on core files, the scheduling policy and
	// priority of krund, and the right to gain privileges by set-user-ID programs; Nice must be 0.
	// Otherwise the umask is 022, there are no core files, the policy is the ordinary one with
	// Nice, and no program gains privileges.
	Inherit bool
	// FixedAddresses switches the randomization of addresses off for the benchmark, whatever the
	// system's setting is (personality(2), ADDR_NO_RANDOMIZE). Only Linux can do that.
	FixedAddresses bool
	// Files become the benchmark's descriptors 3, 4, ... They stay open in krund.
	Files []*os.File
	// Events are opened for the benchmark's first thread only, before it gives up krund's
	// privileges.
	Events []PerfEvent
	// Stamp receives the time just before execve: 8 bytes, native byte order, nanoseconds of the
	// study's clock (CLOCK_MONOTONIC_RAW on Linux, CLOCK_MONOTONIC elsewhere), at StampOffset. Nil
	// means no stamp.
	Stamp       *os.File
	StampOffset int64
	// Stdout receives what the benchmark writes to its standard output, in pieces, as krund reads
	// it from the pipe; Run.Stdout is kept all the same. Write must neither fail nor block, must
	// not retain the piece, and should not allocate: no garbage is collected during a run.
	Stdout io.Writer
}

// PerfEvent is an event of perf_event_open(2) that counts the thread which becomes the benchmark.
// It is pinned; a read returns a group of one with its times.
type PerfEvent struct {
	File   int    // index in Files: the event takes its place in the benchmark
	Type   uint32 // perf_event_attr.type
	Config uint64 // perf_event_attr.config
}

// User is the user that a benchmark runs as. The zero User is krund's own.
type User struct {
	Name   string // for messages
	UID    int
	GID    int
	Groups []int // supplementary groups; none but these
	Own    bool  // no other program uses it: its processes are counted, and its keyrings emptied
}

// IsCaller reports whether u is krund's own user.
func (u User) IsCaller() bool { return u.UID == 0 && u.GID == 0 }

// String names the user in messages.
func (u User) String() string {
	switch {
	case u.IsCaller():
		return "the caller"
	case u.Name != "":
		return fmt.Sprintf("%s (uid %d)", u.Name, u.UID)
	}
	return fmt.Sprintf("uid %d", u.UID)
}

// Limits bound a run. A zero memory limit is the one krund was started with.
type Limits struct {
	Heap    int64         // bytes, RLIMIT_DATA, soft and hard
	Stack   int64         // bytes, RLIMIT_STACK, soft and hard
	Output  int64         // bytes kept of each of stdout and stderr; 0 means DefaultOutput
	Timeout time.Duration // 0 means none

	// Processes is how many processes and threads there may be at a time; 0 means any number. It
	// keeps a fork bomb from taking the machine down. It holds where the system can count them: in
	// a control group with the pids controller (pids.max), and for a User with Own set
	// (RLIMIT_NPROC). Run.Processes is 0 if it could not be enforced.
	Processes int64
}

func (l Limits) output() int64 {
	if l.Output > 0 {
		return l.Output
	}
	return DefaultOutput
}

// EnvBytes is the size of an environment as the kernel lays it out for the program: every string
// with its terminating zero byte, as in /proc/PID/environ, without the pointers to them.
func EnvBytes(env []string) int {
	n := 0
	for _, s := range env {
		n += len(s) + 1
	}
	return n
}

func (c Command) args() []string {
	if len(c.Args) == 0 {
		return []string{c.Path}
	}
	return c.Args
}

func (c Command) dir() string {
	if c.Dir == "" {
		return "/"
	}
	return c.Dir
}
