// Package child starts, watches and ends one process tree: the measured process with everything it
// starts.
//
// The recipe, which ExampleRunner_Run executes:
//
//  1. main calls Stage before anything else. In the daemon it returns at once; in the copy of the
//     program that Run starts it never returns.
//  2. The caller fills in a Command: what to run, as which user, with which environment, limits and
//     descriptors.
//  3. Runner.Run starts the program again as the stage, which becomes the benchmark within a few
//     milliseconds: session, control group, user, limits, priority, environment, working directory,
//     descriptors, signals. Just before execve it writes the time into Command.Stamp.
//  4. Run then sleeps in one poll(2) on one operating system thread until the benchmark ends, the
//     time limit passes or the context is canceled. A quiet benchmark causes no wake-up of krund.
//  5. Processes that the benchmark left behind are killed and reaped. When Run returns, none is
//     alive.
//  6. The returned Run is data. A crash, a timeout and a refused exec are results, not errors; an
//     error means that krund itself failed.
//
// OpenBSD has no control groups, no processor affinity, and no way to find a process that has left
// its process group: there only the group is killed and, with Command.KillUser, every process of
// the user. Run.Strays is always 0 there.
//
// The package does not make the account the benchmark runs as (internal/execution/account), does
// not judge a run, does not write files of the experiment and does not log. Only one Run is active
// at a time: the subreaper attribute belongs to the whole process. Start reading at [Runner.Run].
package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
	"krund/internal/machine/command"
)

// Runner runs benchmarks. The zero Runner is ready.
type Runner struct{}

// oneRun is held while a benchmark runs. It guards what exists once per process: the subreaper
// attribute and the settings of the Go runtime.
var oneRun sync.Mutex

// Run runs one benchmark from start to end. The Run says what happened to the benchmark, including
// a failed start, a crash and a timeout; when ctx is canceled the benchmark is killed and
// Interrupted is set. The error is for what krund itself could not do: no pipes, no processes.
//
// Another Run of this process waits until the first has returned.
func (Runner) Run(ctx context.Context, c Command) (Run, error) {
	oneRun.Lock()
	defer oneRun.Unlock()
	run := Run{Process: results.Process{EnvBytes: EnvBytes(c.Env)}}
	if ctx.Err() != nil {
		run.Interrupted = true
		run.NotStarted = &results.StartFailure{Step: stepStage, Text: "interrupted before the start"}
		return run, nil
	}
	// PR_SET_PDEATHSIG kills the benchmark when the thread that started it ends. That thread must
	// live as long as the daemon.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.CPUs == nil && c.DaemonCPUs != nil {
		c.CPUs = Affinity() // what the benchmark would have had if krund had not been pinned
	}
	if c.CPUs == nil {
		c.DaemonCPUs = nil // the benchmark would inherit them
	}
	s, err := newExecution(c)
	if err != nil {
		return Run{}, fmt.Errorf("run the benchmark: %w", err)
	}
	defer s.close()
	defer s.pinDaemon()()
	if err := s.run(ctx, &run); err != nil {
		return Run{}, fmt.Errorf("run the benchmark: %w", err)
	}
	return run, nil
}

// pinDaemon binds krund to its own processors and returns the function that unbinds it.
func (s *execution) pinDaemon() (back func()) {
	if len(s.command.DaemonCPUs) == 0 {
		return func() {}
	}
	undo, err := pinThreads(s.command.DaemonCPUs)
	if err != nil {
		s.remarks = append(s.remarks, "refused, continued without: "+err.Error())
		return func() {}
	}
	s.pinned = Affinity()
	return func() { _ = undo() } // krund also works on one processor
}

// execution holds what one run needs of the system. close releases all of it.
type execution struct {
	command         Command
	watch           watch
	stdout          *stream
	stderr          *stream
	writeEnds       [2]int // writing ends of stdout and stderr
	status          [2]int // the stage's report: reading and writing end
	cancel          [2]int
	null            *os.File
	request         *os.File
	cgroup          *cgroup
	cgroupReason    string // why there is no group
	cleared         int    // processes of an earlier run found in the group
	limitsProcesses bool   // the group enforces Limits.Processes
	tree            *processTree

	pinned  []int    // processors krund is bound to; nil: it is not
	remarks []string // findings of krund itself
}

func newExecution(c Command) (_ *execution, err error) {
	s := &execution{command: c, writeEnds: [2]int{-1, -1}, status: [2]int{-1, -1}, cancel: [2]int{-1, -1}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.stdout, err = s.outputPipe(0, c.Limits.output(), c.Stdout); err != nil {
		return nil, err
	}
	if s.stderr, err = s.outputPipe(1, c.Limits.output(), nil); err != nil {
		return nil, err
	}
	for _, p := range []*[2]int{&s.status, &s.cancel} {
		if err := pipe(p); err != nil {
			return nil, err
		}
	}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDONLY, 0); err != nil {
		return nil, err
	}
	if err := s.prepareGroup(); err != nil {
		return nil, err
	}
	if err := s.writeRequest(); err != nil {
		return nil, err
	}
	s.tree, err = newProcessTree(s.cgroup, c.KillUser)
	return s, err
}

// outputPipe makes the pipe of one stream. Only the daemon's end is non-blocking.
func (s *execution) outputPipe(i int, limit int64, tee io.Writer) (*stream, error) {
	var p [2]int
	if err := pipe(&p); err != nil {
		return nil, err
	}
	s.writeEnds[i] = p[1]
	return &stream{fd: p[0], large: enlargePipe(p[0]), keep: newHeadTailBuffer(limit), tee: tee}, nil
}

// pipe makes a pipe that no program inherits and whose reading end does not block.
func pipe(p *[2]int) error {
	fds := make([]int, 2)
	if err := unix.Pipe2(fds, unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	p[0], p[1] = fds[0], fds[1]
	if err := unix.SetNonblock(p[0], true); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	return nil
}

func (s *execution) writeRequest() error {
	o := newStartRequest(s.command, os.Getpid())
	if s.cgroup != nil {
		o.Group = []byte(s.cgroup.dir)
	}
	text, err := o.encode()
	if err != nil {
		return err
	}
	if s.request, err = scratchFile(); err != nil {
		return err
	}
	if _, err := s.request.Write(text); err != nil {
		return fmt.Errorf("write the start request: %w", err)
	}
	return nil
}

// prepareGroup opens the control group. A missing group is only remarked; a group whose processes
// cannot be killed is an error.
func (s *execution) prepareGroup() error {
	if s.command.Cgroup == "" {
		return nil
	}
	g, err := openGroup(s.command.Cgroup)
	if err != nil {
		s.cgroupReason = err.Error()
		return nil
	}
	s.cgroup = g
	if s.cleared, err = g.clear(); err != nil {
		return err
	}
	s.limitsProcesses = g.limitProcesses(s.command.Limits.Processes)
	return nil
}

// run starts the benchmark, waits for its end, and kills its remaining processes.
func (s *execution) run(ctx context.Context, run *Run) error {
	restore := quietRuntime()
	kills, counted := memoryKills(s.cgroup)
	refused, used := s.cgroup.refusals(), s.cgroup.processorTime()
	threads := readThreadActivity()
	begin := now()
	pid, err := s.start()
	if err != nil {
		restore()
		return fmt.Errorf("start the stage: %w", err)
	}
	meter := newMeter()
	why, waitErr := s.wait(ctx, begin)
	run.WallNS = now() - begin
	run.Daemon = meter.usage()
	threads.addTo(&run.Daemon, s.command.CPUs)
	run.Daemon.CPUs = s.pinned
	restore()
	run.PID = pid
	run.TimedOut, run.Interrupted = why == timedOut, why == canceled
	s.tree.killAll()
	run.GroupNS = s.cgroup.processorTime() - used
	s.stdout.drain(s.watch.buf)
	s.stderr.drain(s.watch.buf)
	if after, ok := memoryKills(s.cgroup); ok && counted {
		run.OOMKills = int(after - kills)
	}
	if n := s.cgroup.refusals() - refused; n > 0 {
		s.remarks = append(s.remarks, fmt.Sprintf("the benchmark was refused another process or thread "+
			"%d times (limits.processes = %d)",
			n, s.command.Limits.Processes))
	}
	if waitErr != nil {
		return waitErr
	}
	return s.fill(run)
}

// start forks the stage and closes the descriptors that now belong to the stage.
func (s *execution) start() (pid int, err error) {
	c := s.command
	files := []uintptr{s.null.Fd(), uintptr(s.writeEnds[0]), uintptr(s.writeEnds[1])}
	for _, f := range c.Files {
		files = append(files, f.Fd())
	}
	files = append(files, uintptr(s.status[1]), s.request.Fd())
	if c.Stamp != nil {
		files = append(files, c.Stamp.Fd())
	}
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=off"}, Files: files}
	program, err := command.Self()
	if err != nil {
		return 0, err
	}
	args := []string{stageName, stageFlag + strconv.Itoa(len(c.Files))}
	pid, err = s.fork(program, args, attr)
	runtime.KeepAlive(c)
	closeAll(&s.writeEnds[0], &s.writeEnds[1], &s.status[1])
	return pid, err
}

// wait sleeps until the end of the benchmark and returns why it woke up.
func (s *execution) wait(ctx context.Context, begin int64) (endReason, error) {
	s.watch = watch{
		end: s.tree.end, cancel: s.cancel[0], streams: []*stream{s.stdout, s.stderr},
		buf: make([]byte, readBytes),
	}
	if t := s.command.Limits.Timeout; t > 0 {
		s.watch.deadline = begin + int64(t)
	}
	notified := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(notified)
		_, _ = unix.Write(s.cancel[1], []byte{0}) // an empty pipe takes one byte
	})
	why, err := s.watch.wait()
	if !stop() {
		<-notified // the write must be over before the descriptor is closed
	}
	return why, err
}

func (s *execution) close() {
	for _, stream := range []*stream{s.stdout, s.stderr} {
		if stream != nil {
			stream.close()
		}
	}
	closeAll(&s.writeEnds[0], &s.writeEnds[1], &s.status[0], &s.status[1], &s.cancel[0], &s.cancel[1])
	for _, f := range []*os.File{s.null, s.request} {
		if f != nil {
			_ = f.Close() // the stage has read it
		}
	}
	if s.tree != nil {
		s.tree.close()
	}
}

// closeAll closes pipe ends, once.
func closeAll(fds ...*int) {
	for _, fd := range fds {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

// Run is what happened. Every field is data; internal/execution/verdict judges it.
type Run struct {
	// What a record says about the process, but for what the caller knows: Argv, Dir, Env, Account,
	// FreshHome and Limits. PID is 0 when no process was started at all. NotStarted is nil when the
	// benchmark's program was executed; otherwise Exit and Signal are empty: they never describe
	// the stage.
	results.Process

	Processes int64 // Limits.Processes if it was enforced, else 0
	Seen      Seen  // the process as it found itself just before execve
	Daemon    results.Daemon
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

// now returns nanoseconds of a monotonic clock, for deadlines and durations of this package. The
// study's clock is that of the exec stamp.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock_gettime(CLOCK_MONOTONIC): " + err.Error()) // POSIX: cannot happen
	}
	return ts.Nano()
}
