// Package guard brings the machine back when krund cannot: a process that outlives krund, notices
// its end however that comes about, and puts back what krund had changed. It is what keeps a
// machine whose network is down from being lost.
//
// The guard is a copy of krund that sleeps in one read of a pipe that krund holds open. krund says
// "done" on it when everything has been put back. The end of the pipe without that word means that
// krund is dead, because only the kernel closes it then.
//
// krund starts it in two steps, as a daemon is started: the first copy prepares what the second one
// inherits, starts it and ends. So the guard is no child of krund, which needs no attention for it
// and finds no stranger among its children when it looks for what a benchmark has left. It has a
// session of its own, so that signals to krund's terminal or process group pass it by, ignores
// those that ask a process to end, since it goes when krund does, runs on the CPUs that benchmarks
// leave alone, and is not what the kernel kills for want of memory.
//
// What it cannot outlive: a SIGKILL of its own, sent to all processes of krund's control group.
// systemd does that whenever the main process of a unit ends. Therefore the units run `krunctl
// restore` afterwards (ExecStopPost=), which systemd does whatever became of krund. Both may
// happen, one after the other: the journal is locked, and putting back twice does nothing.
//
// Start reading at Start, which is krund's side, and Stage, which is the guard's.
package guard
