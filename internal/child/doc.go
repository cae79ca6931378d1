// Package child starts, watches and ends one measured process.
//
// The recipe, which ExampleRunner_Run executes:
//
//  1. main calls Stage before anything else. In the daemon it returns at once; in the copy of the program that Run
//     starts it never returns.
//  2. The caller fills in a Command: what to run, as whom, with which environment, limits and descriptors.
//  3. Runner.Run starts the program again as the stage. The stage is a few milliseconds of code that turns itself into
//     the benchmark: session, control group, user, limits, priority, environment, working directory, descriptors,
//     signals. The last thing it does before execve is to write the time into Command.Stamp.
//  4. Run then sleeps in one poll(2) on one operating system thread until the benchmark ends, the time limit passes or
//     the context is cancelled. A quiet benchmark costs the daemon no wake-up at all.
//  5. Whatever the benchmark left behind is killed and reaped. When Run returns nothing of it is alive.
//  6. The returned Run is data. A crash, a time-out, a refused exec are results, not errors; an error means that krund
//     itself could not do its work.
//
// OpenBSD has no control groups, no processor affinity, and no way to keep hold of a process that has left its process
// cgroup: there only the group is killed, and with Command.KillUser every process of its user. Run.Strays is always 0 there.
//
// What the package never does: make the account the benchmark runs as (internal/account), judge a run,
// write files of the experiment, log. One Run at a time per process: being the
// reaper of orphaned processes is an attribute of the whole process.
package child
