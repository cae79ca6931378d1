// Command krund runs an experiment: it takes over the machine, runs one process execution after the
// other, each after a reboot, and records the measurements. It never analyzes them; krunctl does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"krund/internal/boot/guard"
	"krund/internal/display"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/config"
)

// Exit statuses; they are documented in usage.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitFailed      = 4 // krunctl's 3 is another: records were left out
	exitInterrupted = 130
)

const usage = `krund runs experiments that measure how programs warm up.

Usage:
  krund run [flags] NAME.toml   start or continue the experiment
  krund check [flags] NAME.toml check the configuration and the machine, change
                                nothing
  krund census [--time 10s] [--cpus LIST] NAME.toml
                                measure what disturbs the benchmarks'
                                processors, with the settings that the file
                                applies; print JSON (for krunctl check)
  krund version
  krund help

The results are in the directory NAME.krun beside NAME.toml.
` + "`krunctl status NAME.toml`" + ` shows the progress.

Flags of run:
  --directory DIR   use DIR instead of NAME.krun; --folder is the deprecated
                    former name
  --reboot MODE     what restarts before every process execution: hardware (the
                    machine), kexec (its kernel), soft (its programs), or none.
                    Default: experiment.reboot of the configuration. Every
                    record contains what restarted.
  --quick           try the whole experiment: no reboots, no waits, two
                    executions of at most 20 iterations, in the directory
                    NAME-quick.krun; records and reports have that name. It
                    replaces an earlier quick run that has ended, or had another
                    configuration or other programs.
  --accept-changed  go on although programs, benchmarks or libraries have
                    changed since they were measured: as a new edition, which is
                    never pooled with the results before. With reboots:
                    ` + "`krunctl enable --accept-changed NAME.toml`" + `
  --dry-run         print what would run, and start nothing
  --quiet           print only errors
  --verbose         also print debugging messages

Flags of check:
  --reboot MODE, --quick
                    judge a run with these flags: without reboots, what only the
                    defaults require is no more than a warning
  --json            print JSON
  --try             also run one iteration of each key, with its limits, account
                    and libraries, linked anew by experiment.relink, at most a
                    minute each, and print what would fail and what to do. No
                    control is applied, no hook runs, and nothing is stored.

With experiment.reboot other than "none", ` + "`krunctl enable NAME.toml`" + ` makes every
boot start krund. A person cannot: on a machine that was not enabled for the
experiment, run refuses it before anything is changed, and names --reboot none
and --quick.

Ctrl-C (SIGINT) or SIGTERM ends the running benchmark, makes its slot
outstanding again, restores the machine and exits. A second one exits
immediately; ` + "`krunctl repair --machine`" + ` then restores the machine.

krund does nothing while an experiment is held: by the file hold in its
directory (` + "`krunctl hold`" + `, ` + "`krunctl resume`" + `), by the file /etc/krund/hold, or by
the kernel argument krund.hold. ` + "`krunctl stop`" + ` lets the running process
execution finish and then ends the experiment. With boot.entry, krund runs only
in boots of that boot loader entry (kernel argument krund.entry).

If a unit started krund (that of KRUND_UNIT) and the experiment cannot be
opened, krund disables the unit, so that the next boots are ordinary ones, and
sends one notification through [notify].

Examples:
  krund run --directory /tmp/demo.krun /usr/share/doc/krund/examples/demo.toml
                                try it: no root, no restarts, half a minute
  krund check --try warmup.toml
                                check it before it runs for days
  krund run --reboot none --directory /tmp/trial.krun trial.toml

Exit status:
  0    nothing is outstanding, the machine is restarting, or the experiment is
       held or was stopped; no process execution failed
  1    the experiment stopped, or check found the machine unfit; the message
       says what to do
  2    wrong usage, or errors in the configuration; nothing was started
  4    the experiment has ended or was stopped, and process executions failed
       (outcome error or timeout); the last line has their number and the first
       reason
  130  interrupted
`

// init keeps the main goroutine in the first thread, where the kernel delivers signals first. That
// thread must not wait for a disk or a file system that does not answer: signals would wait, too.
func init() { runtime.LockOSThread() }

func main() {
	child.Stage()                 // never returns in the copy of krund that becomes a benchmark
	account.Stage()               // never returns in the copy that ends the processes of the account
	guard.Stage(restoreAfterKill) // never returns in the copy that restores the machine when krund is killed
	ctx, stop := interruptible(os.Args[1:])
	defer stop()
	code := make(chan int)
	go func() { code <- run(ctx, os.Args[1:], os.Stdout, os.Stderr) }()
	os.Exit(<-code)
}

// run is the krund command as a function, for main and the tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"run": runExperiment, "check": check, "census": census, "measure": measure,
		"build": build,
	}
	switch name := args[0]; name {
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	case "version", "--version":
		if len(args) > 1 {
			return status(usageError{"krund version takes no arguments" + seeHelp}, stderr)
		}
		fmt.Fprintln(stdout, "krund", display.Version())
		return exitOK
	default:
		command, ok := commands[name]
		if !ok {
			fmt.Fprintf(stderr, "krund: unknown command %q%s\n", name, seeHelp)
			return exitUsage
		}
		err := command(ctx, args[1:], stdout, stderr)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			return exitOK
		}
		code := status(err, stderr)
		if name == "run" && code != exitOK {
			keepReason(args[1:], code, err)
		}
		return code
	}
}

const seeHelp = "; see `krund help`"

// usageError is an error in the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// errInterrupted ends krund with the status of an interruption.
var errInterrupted = errors.New("interrupted")

// errInterruptedTwice ends krund immediately.
var errInterruptedTwice = errors.New("interrupted a second time, before the machine was restored; `krunctl " +
	"repair --machine` restores it")

// errSilent ends krund with status 1 when everything has been reported.
var errSilent = errors.New("failed")

// status prints err, once, and returns the exit status.
func status(err error, stderr io.Writer) int {
	var mistakes config.Errors
	var wrong usageError
	var failed *failedError
	var refused notEnabledError
	code := exitError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errSilent):
		return exitError
	case errors.As(err, &mistakes):
		fmt.Fprintln(stderr, mistakes.Error())
		return exitUsage
	case errors.As(err, &wrong), errors.As(err, &refused):
		code = exitUsage
	case errors.As(err, &failed), errors.Is(err, execution.ErrBuild):
		code = exitFailed
	}
	// it may name files that a benchmark has left behind
	fmt.Fprintln(stderr, "krund:", display.Plain(display.Clip(err.Error(), messageBytes)))
	return code
}

// interruptible returns a context that ends with the first SIGINT, SIGTERM or SIGHUP, and with
// SIGUSR1, which krunctl has sent when it is killed. A second SIGINT or SIGTERM ends the process
// immediately; args are those it was started with. If krund was
// started with SIGHUP ignored, as by nohup(1), it stays ignored: closing a terminal must not end a
// week of measurements. Neither must a closed pipe at krund's output (SIGPIPE).
func interruptible(args []string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not Ignore, because children would inherit it
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel()
		for s := range signals {
			if s == syscall.SIGHUP || s == syscall.SIGUSR1 { // one for each thread of a killed parent
				continue
			}
			if len(args) > 0 && args[0] == "run" {
				keepReason(args[1:], exitInterrupted, errInterruptedTwice)
			}
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}
