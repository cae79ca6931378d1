package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageFailed is the exit status of a stage that did not become the benchmark. Only the report is
// read.
const stageFailed = 127

// Stage must be the first call of main, also in test binaries (TestMain). It returns at once unless
// Run started this process as the stage; then it becomes the benchmark and never returns.
func Stage() {
	n, ok := stageArgs(os.Args)
	if !ok {
		return
	}
	// Priority, processors and signal mask belong to a thread, and only the thread that calls
	// execve survives it.
	runtime.LockOSThread()
	s := &stage{n: n}
	s.run()
}

// stage is the process on its way to becoming the benchmark.
type stage struct {
	n       int // descriptors of the benchmark after 0, 1, 2
	request startRequest
	remarks []string
	noGroup string // why the control group could not be entered
}

type step struct {
	name string
	do   func() error
}

// run takes every step and then execs. The order matters: what needs root comes before the change
// of user. The memory limits, which the Go runtime might not survive, come last, in execBenchmark.
func (s *stage) run() {
	steps := slices.Concat(
		[]step{{stepStage, s.read}},
		s.systemSteps(), // descriptors, priority, processors, signals
		[]step{
			{stepLimits, s.prepareLimits},
			{stepUser, s.setUser},
			{stepKeyrings, s.clearKeyrings},
			{stepPrivileges, s.dropPrivileges},
			{stepDirectory, s.enter},
		})
	for _, step := range steps {
		if err := step.do(); err != nil {
			s.fail(step.name, err)
		}
	}
	path, args, env, err := s.execVectors()
	if err != nil {
		s.fail(stepStage, err)
	}
	s.report(report{Ready: true, Remarks: s.remarks, GroupError: s.noGroup, Seen: readBack(s.request),
		Cost: ownUsage()})
	s.execBenchmark(path, args, env)
}

// read reads the start request from its descriptor.
func (s *stage) read() error {
	f := os.NewFile(uintptr(requestFD(s.n)), "start request")
	if f == nil {
		return errors.New("no start request: started by hand?")
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the start request: %w", err)
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return fmt.Errorf("read the start request: %w", err)
	}
	s.request, err = decodeStartRequest(text)
	return err
}

// prepareLimits sets the umask and forbids core files, raises hard limits while that is still
// allowed, and restores the limit on descriptors.
func (s *stage) prepareLimits() error {
	if !s.request.Inherit {
		unix.Umask(0o022)
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			return fmt.Errorf("core files: %w", err)
		}
	}
	for _, l := range []struct {
		what int
		name string
		want int64
	}{{unix.RLIMIT_DATA, "heap", s.request.Heap}, {unix.RLIMIT_STACK, "stack", s.request.Stack}} {
		var is unix.Rlimit
		if err := unix.Getrlimit(l.what, &is); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if l.want == 0 || uint64(is.Max) >= uint64(l.want) {
			continue
		}
		hard := is.Max
		is.Max = rlimValue(l.want)
		if err := unix.Setrlimit(l.what, &is); err != nil {
			return fmt.Errorf("%s: the hard limit is %d: %w", l.name, hard, err)
		}
	}
	if n := s.request.Processes; n > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC,
			&unix.Rlimit{Cur: rlimValue(n), Max: rlimValue(n)}); err != nil {
			return fmt.Errorf("processes: %w", err)
		}
	}
	// The Go runtime raised the soft limit on descriptors at its start and keeps the old one
	// private. syscall.Exec restores it before it executes, so a call that executes nothing
	// restores it.
	if err := syscall.Exec("", nil, nil); !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("descriptors: %w", err)
	}
	return nil
}

// setUser becomes the user. The groups come first, because later the process may not change them.
func (s *stage) setUser() error {
	o := s.request
	if !o.SetUser || (os.Geteuid() != 0 && o.UID == os.Geteuid() && o.GID == os.Getegid()) {
		return nil
	}
	if err := syscall.Setgroups(o.Groups); err != nil {
		return fmt.Errorf("supplementary groups: %w", err)
	}
	if err := syscall.Setgid(o.GID); err != nil {
		return fmt.Errorf("group %d: %w", o.GID, err)
	}
	if err := syscall.Setuid(o.UID); err != nil {
		return fmt.Errorf("user %d: %w", o.UID, err)
	}
	if os.Getuid() != o.UID || os.Geteuid() != o.UID || os.Getegid() != o.GID {
		return errors.New("the system changed the user only in part")
	}
	return nil
}

func (s *stage) enter() error { return syscall.Chdir(string(s.request.Dir)) }

// execVectors builds what execve needs, so that nothing is allocated under the memory limits.
func (s *stage) execVectors() (path *byte, args, env []*byte, err error) {
	path, err = syscall.BytePtrFromString(string(s.request.Path))
	if err != nil {
		return nil, nil, nil, err
	}
	if args, err = syscall.SlicePtrFromStrings(toStrings(s.request.Args)); err != nil {
		return nil, nil, nil, err
	}
	env, err = syscall.SlicePtrFromStrings(toStrings(s.request.Env))
	return path, args, env, err
}

// remark notes a refusal that the benchmark can do without.
func (s *stage) remark(what string, err error) {
	if err != nil {
		s.remarks = append(s.remarks, fmt.Sprintf("%s: %v", what, err))
	}
}

func (s *stage) fail(step string, err error) {
	r := report{Step: step, Text: err.Error(), Remarks: s.remarks}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	s.report(r)
	os.Exit(stageFailed)
}

// report writes the one line. If even that fails, the daemon sees a stage that ended without a
// report.
func (s *stage) report(r report) {
	line, err := json.Marshal(r)
	if err != nil {
		os.Exit(stageFailed)
	}
	line = append(line, '\n')
	for len(line) > 0 {
		n, err := unix.Write(statusFD(s.n), line)
		if err != nil && !errors.Is(err, unix.EINTR) {
			os.Exit(stageFailed)
		}
		line = line[max(n, 0):]
	}
}

// ownUsage reads what the kernel has charged to this process so far. The largest resident size
// includes that of the daemon, whose memory the process shared for a moment after the fork.
func ownUsage() (used unix.Rusage) {
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // cannot fail with these arguments
	return used
}

// readBack reads the attributes of this process. The memory limits, which execBenchmark has yet to
// set, are those of the request.
func readBack(o startRequest) Seen {
	groups, err := os.Getgroups()
	if err != nil {
		groups = nil
	}
	slices.Sort(groups)
	s := Seen{
		UID: os.Getuid(), GID: os.Getgid(), Groups: groups,
		Heap: softLimit(unix.RLIMIT_DATA), Stack: softLimit(unix.RLIMIT_STACK),
		Core: softLimit(unix.RLIMIT_CORE), Files: softLimit(unix.RLIMIT_NOFILE),
		Processes: softLimit(unix.RLIMIT_NPROC),
	}
	if o.Heap != 0 {
		s.Heap = o.Heap
	}
	if o.Stack != 0 {
		s.Stack = o.Stack
	}
	readBackSystem(&s)
	return s
}

func softLimit(what int) int64 {
	var is unix.Rlimit
	if err := unix.Getrlimit(what, &is); err != nil || is.Cur == unix.RLIM_INFINITY {
		return -1
	}
	return int64(is.Cur)
}

const (
	// stageName is Args[0] of the stage, and its name in ps for a few milliseconds.
	stageName = "krund-stage"
	// stageFlag is Args[1], followed by the number of descriptors for the benchmark. It looks like
	// a flag: a program that did not call Stage, such as a test binary, refuses it and exits
	// instead of starting itself without end.
	stageFlag = "-krund-stage-v1="
)

// startRequest is what Run asks the stage to do. Strings are bytes, because JSON would replace
// those that are not UTF-8.
type startRequest struct {
	Path        []byte      `json:"path"`
	Args        [][]byte    `json:"args"`
	Env         [][]byte    `json:"env"`
	Dir         []byte      `json:"dir"`
	Group       []byte      `json:"group"` // directory of the control group to enter; empty for none
	SetUser     bool        `json:"set_user"`
	UID         int         `json:"uid"`
	GID         int         `json:"gid"`
	Groups      []int       `json:"groups"`
	Own         bool        `json:"own"` // User.Own
	Heap        int64       `json:"heap"`
	Stack       int64       `json:"stack"`
	Processes   int64       `json:"processes"`
	Nice        int         `json:"nice"`
	Inherit     bool        `json:"inherit"` // Command.Inherit
	CPUs        []int       `json:"cpus"`
	Stamp       bool        `json:"stamp"`
	StampOffset int64       `json:"stamp_offset"`
	Parent      int         `json:"parent"`
	Events      []PerfEvent `json:"events"`
	Fixed       bool        `json:"fixed"` // Command.FixedAddresses
}

func newStartRequest(c Command, parent int) startRequest {
	o := startRequest{
		Path: []byte(c.Path), Args: toBytes(c.args()), Env: toBytes(c.Env), Dir: []byte(c.dir()),
		SetUser: !c.User.IsCaller(), UID: c.User.UID, GID: c.User.GID, Groups: c.User.Groups, Own: c.User.Own,
		Heap: c.Limits.Heap, Stack: c.Limits.Stack, Nice: c.Nice, Inherit: c.Inherit, CPUs: c.CPUs,
		Stamp: c.Stamp != nil, StampOffset: c.StampOffset, Parent: parent, Events: c.Events,
		Fixed: c.FixedAddresses,
	}
	if c.User.Own { // the kernel counts what the user has, not what the benchmark has
		o.Processes = c.Limits.Processes
	}
	return o
}

func (r startRequest) encode() ([]byte, error) { return json.Marshal(r) }

func decodeStartRequest(text []byte) (startRequest, error) {
	var o startRequest
	if err := json.Unmarshal(text, &o); err != nil {
		return startRequest{}, fmt.Errorf("read the start request: %w", err)
	}
	return o, nil
}

// firstFD is the number of the first of Command.Files in the benchmark.
const firstFD = 3

// The stage's own descriptors follow those of the benchmark, which are 0, 1, 2 and the n of
// Command.Files.
func statusFD(n int) int  { return 3 + n }
func requestFD(n int) int { return 4 + n }
func stampFD(n int) int   { return 5 + n }

// stageArgs recognizes the command line of the stage and returns the number of the benchmark's
// descriptors.
func stageArgs(args []string) (n int, ok bool) {
	if len(args) != 2 || args[0] != stageName {
		return 0, false
	}
	text, found := strings.CutPrefix(args[1], stageFlag)
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func toStrings(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
