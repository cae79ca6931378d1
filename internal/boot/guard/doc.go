// Package guard restores the machine when krund cannot. A guard is a process that outlives krund,
// notices its end, however it ends, and restores what krund has changed. Without it, a killed krund
// would leave a machine whose network is down.
//
// The guard is a copy of krund that sleeps in one read of a pipe that krund holds open. krund
// writes "done" to the pipe when everything has been restored. If the pipe ends without that word,
// krund is dead, because only the kernel closes the pipe in that case.
//
// krund starts the guard in two steps, like a daemon: the first copy prepares what the second one
// inherits, starts it and ends. Therefore the guard is not a child of krund: krund need not wait
// for it, and does not find it among its children when it looks for processes that a benchmark has
// left. The guard has a session of its own, so that signals to krund's terminal or process group do
// not reach it. It ignores the signals that ask a process to end, because it ends when krund does.
// It runs on the CPUs that benchmarks do not use, and the kernel does not kill it when memory runs
// out.
//
// The guard does not survive a SIGKILL to all processes of krund's control group, which systemd
// sends when the main process of a unit ends. Therefore the units also run
// `krunctl repair --machine` afterwards (ExecStopPost=), however krund ended. If both happen, one
// waits for the other: the journal is locked, and restoring twice does nothing.
//
// Start reading at Start, which is krund's side, and Stage, which is the guard's side.
package guard
