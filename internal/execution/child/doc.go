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
