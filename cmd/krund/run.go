package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"krund/internal/boot"
	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/foreign"
	"krund/internal/durable/trust"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/joined"
	"krund/internal/machine/sysroot"
	"krund/internal/schedule"
)

// runOptions are the flags of `krund run`.
type runOptions struct {
	path      string // of the configuration, absolute
	directory string
	reboot    string
	former    bool // the directory was given by the flag's former name
	quick     bool
	accept    bool // changed programs
	dryRun    bool
	quiet     bool
	verbose   bool
}

func parseRun(args []string) (runOptions, error) {
	var o runOptions
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.directory, "directory", "", "")
	flags.StringVar(&o.directory, "folder", "", "") // its former name, deprecated
	flags.StringVar(&o.reboot, "reboot", "", "")
	flags.BoolVar(&o.quick, "quick", false, "")
	flags.BoolVar(&o.accept, "accept-changed", false, "")
	flags.BoolVar(&o.dryRun, "dry-run", false, "")
	flags.BoolVar(&o.quiet, "quiet", false, "")
	flags.BoolVar(&o.verbose, "verbose", false, "")
	path, err := parseWithFile(flags, args)
	if err != nil {
		return o, err
	}
	if o.reboot, err = restartsBy(o.reboot, o.quick); err != nil {
		return o, err
	}
	flags.Visit(func(f *flag.Flag) { o.former = o.former || f.Name == "folder" })
	o.path = path
	if o.directory == "" {
		o.directory = directory.For(path)
		if o.quick {
			o.directory = directory.For(strings.TrimSuffix(path, ".toml") + config.QuickMark)
		}
	}
	o.directory, err = directory.Absolute(o.directory)
	return o, err
}

// restartsBy returns the reboot mode that the flags --reboot and --quick of run and check ask for;
// "" for that of the configuration.
func restartsBy(reboot string, quick bool) (string, error) {
	switch {
	case reboot != "" && !slices.Contains(config.RebootModes(), reboot):
		return "", usageError{fmt.Sprintf("--reboot must be one of %s, not %q",
			strings.Join(config.RebootModes(), ", "), reboot)}
	case quick && reboot != "" && config.Restarts(reboot):
		return "", usageError{"--quick runs without reboots; omit --reboot " + reboot}
	case quick:
		return config.RebootNone, nil
	}
	return reboot, nil
}

// parseWithFile parses flags that may stand before and after the one file, and returns the file's
// absolute path. Errors: flag.ErrHelp, usageError.
func parseWithFile(flags *flag.FlagSet, args []string) (string, error) {
	var files []string
	for {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return "", err
		}
		if err != nil {
			return "", usageError{err.Error() + seeHelp}
		}
		if flags.NArg() == 0 {
			break
		}
		files, args = append(files, flags.Arg(0)), flags.Args()[1:]
	}
	if len(files) != 1 {
		return "", usageError{fmt.Sprintf("krund %s takes one NAME.toml, not %d%s", flags.Name(), len(files),
			seeHelp)}
	}
	return directory.Absolute(files[0])
}

// loadConfig reads the configuration. The files that it names must exist before the experiment has
// started. Later a missing file is the outcome of the executions that need it.
func loadConfig(path string, started, quick bool) (*config.Config, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	load := config.Open
	switch {
	case quick:
		load = config.Quick
	case !started:
		load = config.Load
	}
	cfg, err := load(path, host, doctor.Settings())
	if err != nil {
		return nil, misnamed(err)
	}
	return asAllowed(cfg, os.Geteuid() == 0, joined.File, joined.StateDirectory)
}

// asAllowed returns a configuration as this machine's owner lets root run it, which is for those
// that came from the hub. krunctl has judged it when it was given; but it may demand something else
// now, because it can have sections for any name, and the machine may have another name.
func asAllowed(cfg *config.Config, root bool, hubFile, state string) (*config.Config, error) {
	if !root || !joined.IsGiven(cfg.Path, state) {
		return cfg, nil
	}
	hub, err := joined.Load(durable.OS(), hubFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without it nothing is allowed
		return nil, err
	}
	return hub.Bound(cfg)
}

// misnamed turns the error that the configuration does not exist into a usageError.
func misnamed(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, config.ErrNotFile) {
		return usageError{err.Error() + "; `krunctl init` writes a first one"}
	}
	return err
}

// runExperiment is `krund run`.
func runExperiment(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	if o.former && !o.quiet {
		fmt.Fprintln(stderr, "krund: --folder is deprecated; use --directory")
	}
	why, err := held(o.directory) // before anything is created or refused
	if err != nil {
		return giveUp(ctx, o, nil, stderr, err)
	}
	if why != "" {
		return idle(stdout, why)
	}
	if o.dryRun {
		return dryRun(o, stdout)
	}
	p, err := prepareWithin(ctx, startTime, func() (prepared, error) {
		return prepare(ctx, o, stdout, stderr)
	})
	defer p.close()
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err != nil {
		return giveUp(ctx, o, p.cfg, stderr, err)
	}
	if p.idle != "" {
		return idle(stdout, p.idle)
	}
	ready()
	ending, err := boot.Run(ctx, p.cfg, o.directory, p.reboot, p.system)
	p.screen.show("")
	if _, is := errors.AsType[*boot.NotOpened](err); is {
		return giveUp(ctx, o, p.cfg, stderr, err)
	}
	if err != nil {
		return err
	}
	return sayEnding(ending, o, stdout, stderr)
}

// idle ends a krund that has nothing to do in this boot.
func idle(stdout io.Writer, why string) error {
	ready() // for the unit, this is a success
	fmt.Fprintf(stdout, "krund: nothing is run: %s\n", why)
	return nil
}

// prepared contains what an experiment runs with.
type prepared struct {
	cfg *config.Config // nil if it cannot be read or must not be trusted
	// why nothing runs in this boot, "" if krund runs; the other fields are then not set
	idle     string
	reboot   string
	system   boot.System
	screen   *screen
	closeLog func()
	machine  *directory.Lock // nil if the experiment does not take over the machine
}

// startTime bounds what comes before the first attempt of a slot, which no other limit ends:
// reading the configuration and hashing the programs.
const startTime = 20 * time.Minute

// prepareWithin returns what prepare returns, unless it takes longer than the limit or ctx ends:
// the configuration may name files that do not answer.
func prepareWithin(ctx context.Context, limit time.Duration, prepare func() (prepared, error)) (
	prepared, error) {
	ctx, cancel := foreign.Limited(ctx, limit)
	defer cancel()
	var p prepared
	failed, err := foreign.Within(ctx, func() (err error) {
		p, err = prepare()
		return err
	})
	if errors.Is(err, foreign.ErrLate) {
		err = fmt.Errorf("the start: %w; find out which of the files that the configuration names cannot be "+
			"read, and repair that or name another file", err)
	}
	if err != nil {
		return prepared{screen: newScreen(io.Discard)}, err // prepare goes on
	}
	return p, failed
}

// prepare prepares what boot.Run needs. The result must be closed, also after an error.
func prepare(ctx context.Context, o runOptions, stdout, stderr io.Writer) (prepared, error) {
	p := prepared{screen: newScreen(stdout)}
	cfg, err := loadConfig(o.path, boot.Started(durable.OS(), o.directory), o.quick)
	if err != nil {
		return p, err
	}
	p.reboot = cfg.Experiment.Reboot
	if o.reboot != "" {
		p.reboot = o.reboot
	}
	if config.Restarts(p.reboot) && !startedByBoot() {
		return p, notEnabled(o, cfg, p.reboot, os.Args[0])
	}
	cfg = cfg.WithReboot(p.reboot)
	if err := cfg.Trusted(p.reboot); err != nil {
		return p, err
	}
	p.cfg = cfg
	if config.Restarts(p.reboot) {
		if p.idle = autostart.OtherBoot(cfg.Boot.Entry, o.path, sysroot.New("/")); p.idle != "" {
			return p, nil
		}
	}
	if p.machine, err = lockMachine(ctx, cfg, o.directory, p.reboot, os.Geteuid() == 0, stderr,
		directory.RuntimeDirs()...); err != nil {
		return p, err
	}
	p.system, p.closeLog, err = newSystem(ctx, cfg, o, p, stderr)
	return p, err
}

func (p prepared) close() {
	if p.closeLog != nil {
		p.closeLog()
	}
	if p.machine != nil {
		_ = p.machine.Release() // nothing was written
	}
}

// sayEnding prints how an experiment ended without an error of krund. The error is that executions
// failed.
func sayEnding(ending boot.Ending, o runOptions, stdout, stderr io.Writer) error {
	switch ending {
	case boot.Finished:
		if !o.quiet {
			fmt.Fprintf(stdout, "nothing is outstanding; next:\n  %s analyze %s\n  %[1]s show %[2]s\n",
				krunctl(), display.ShellPath(o.directory))
		}
		return failures(o.directory)
	case boot.Interrupted:
		fmt.Fprintf(stderr, "krund: interrupted; the same command continues where it stopped\n")
		return errInterrupted
	case boot.Stopped:
		fmt.Fprintf(stdout, "krund: stopped as requested; the same command continues where it stopped\n")
		return failures(o.directory)
	default: // the log contains it
	}
	return nil
}

// makeDirectory creates or opens the experiment's directory, and refuses one that other users could
// change. All further accesses go through its FS, which refers to the directory that was checked,
// even if it is renamed.
func makeDirectory(dir, mode string) (directory.Directory, error) {
	verdict, err := trust.Look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is created below; the path to it was checked
	}
	if err == nil {
		err = config.Rule(mode)(verdict)
	}
	if err != nil {
		return directory.Directory{}, fmt.Errorf("check the path to the experiment's directory: %w", err)
	}
	if _, err := directory.Create(durable.OS(), dir); err != nil {
		return directory.Directory{}, err
	}
	return directory.OpenChecked(durable.OS(), dir, config.Rule(mode))
}

// failedError ends a krund whose experiment has ended, but with executions that failed.
type failedError struct {
	failed, slots int
	first         string // the first of them, and why it failed
}

func (e *failedError) Error() string {
	return fmt.Sprintf("%d of %d process executions failed (`krunctl run --again` runs them again); the first: %s",
		e.failed, e.slots, e.first)
}

// failures returns a *failedError if slots of the experiment in dir ended with an error or a
// timeout, in this process or an earlier one.
func failures(dir string) error {
	f, err := directory.Open(durable.OS(), dir)
	if err != nil {
		return err
	}
	s, err := schedule.Open(f.FS(), f.Schedule(), false)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // read-only
	e := &failedError{slots: s.Header().Slots}
	for slot, err := range s.Slots() {
		if err != nil || slot.Flag != schedule.Error && slot.Flag != schedule.Timeout {
			continue // a damaged slot is not a failure of the benchmark
		}
		if e.failed++; e.failed == 1 {
			e.first = fmt.Sprintf("%s, execution %d: %s", slot.Key, slot.Pexec, whyFailed(f, slot))
		}
	}
	if e.failed == 0 {
		return nil
	}
	return e
}

// whyFailed returns the first reason in the record of a slot's last attempt.
func whyFailed(f directory.Directory, slot schedule.Slot) string {
	name := results.Name{Slot: slot.Index, Attempt: slot.Attempts}
	record, err := results.NewReader(f.FS(), f.Results()).Load(name)
	if err != nil || len(record.Reasons) == 0 {
		return slot.Flag.String()
	}
	const most = 500
	return display.PlainLine(display.Clip(record.Reasons[0], most))
}

// longestReason bounds an error in the log, in bytes. It may quote what others have written.
const longestReason = 4 << 10

// keepReason logs in the experiment's log why `krund run` with these arguments ends with a status
// other than 0. Standard error may not be saved anywhere, and the journal may not outlive the boot.
// If the directory does not exist or is not trusted, nothing is logged.
func keepReason(args []string, code int, err error) {
	o, usageErr := parseRun(args)
	if usageErr != nil {
		return // no experiment is named
	}
	f, openErr := directory.OpenChecked(durable.OS(), o.directory, trust.Verdict.OneOwner)
	if openErr != nil {
		return
	}
	log, closeLog, openErr := newLog(f.FS(), f.Log(), o, io.Discard) // the error was printed already
	if openErr != nil {
		return
	}
	defer closeLog()
	log.Error("krund ended", "status", code, "error", display.Head(err.Error(), longestReason))
}
