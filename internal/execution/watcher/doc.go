// Package watcher is a process that reads the shared buffer of a process execution while the
// benchmark runs. It runs on a processor that the benchmark does not use. It shows the number of
// iterations on a terminal, finds the end of warm-up, and sets the buffer's stop flag when the
// measurement after it is complete; all runners honor that flag.
//
// krund starts the process (Start) before the benchmark and ends it afterwards (Process.End). The
// process is `krunctl watch-iterations`, whose loop is Watch.Run: krund never analyzes. The two
// exchange an Order, the command's argument, and Reports, lines of JSON on its standard output.
// Standard input is a pipe whose end is the order to end: krund's own end is enough. On Linux the
// kernel also kills the watcher with krund.
//
// The watcher makes no system call between its sleeps except to redraw the line and to report. If
// krund is root, it runs as an unprivileged user: the buffer is untrusted input. Start reading at
// Watch.Run.
package watcher
