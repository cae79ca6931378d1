package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"krund/internal/boot"
	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
	"krund/internal/machine/probe"
	"krund/internal/machine/sysroot"
	"krund/runners"
)

// newSystem returns the implementations for this machine, and a function that closes the log.
func newSystem(
	ctx context.Context, cfg *config.Config, o runOptions, p prepared, stderr io.Writer,
) (boot.System, func(), error) {
	mode := p.reboot
	if config.Restarts(mode) && os.Geteuid() != 0 {
		return boot.System{}, nil, fmt.Errorf("experiment.reboot = %q needs root; let krund's unit start it "+
			"as root, which is its default", mode)
	}
	root := sysroot.New("/")
	if why := autostart.Unavailable(mode, root); why != "" {
		return boot.System{}, nil, fmt.Errorf("experiment.reboot = %q: %s", mode, why)
	}
	began := autostart.FindBoot(root, autostart.SoftReboots(ctx, root))
	installed, err := findInstalled(o.directory)
	if err != nil {
		return boot.System{}, nil, err
	}
	if err := errors.Join(runnersInstalled(cfg, installed), deciderInstalled(cfg,
		boot.Started(durable.OS(), o.directory))); err != nil {
		return boot.System{}, nil, err
	}
	executor := execution.Executor{Runner: child.Runner{}, Installed: installed, Root: sysroot.New("/"),
		Trust: config.Rule(mode)}
	if err := executor.CheckWatcher(cfg); err != nil {
		return boot.System{}, nil, err
	}
	f, err := makeDirectory(o.directory, mode)
	if err != nil {
		return boot.System{}, nil, err
	}
	log, closeLog, err := newLog(f.FS(), f.Log(), o, p.screen.above(stderr))
	if err != nil {
		return boot.System{}, nil, err
	}
	m := control.NewMachine(ctx, sysroot.New("/"))
	present := func() map[string]string { return probe.ReadFingerprint(ctx, m.Host, nil) }
	if err := keepCertificate(f, cfg.Hostname, present); err != nil {
		log.Warn("the experiment keeps no noise certificate", "error", err)
	}
	room := newRoom(cfg, f, log)
	fsys := durable.WithRoom(f.FS(), room.Make)
	fresh := func(ctx context.Context) (account.Account, []string, error) {
		return account.Fresh(ctx, cfg.Limits.Home)
	}
	environ := commandEnviron(installed.CallerHome)
	wanted := doctor.Of(cfg, mode)
	files := programs(cfg, installed)
	identify(ctx, cfg, files, log)
	taken := &boot.LabMachine{
		Control: m, Settings: wanted.Control, FS: fsys, Journal: f.Journal(), Clock: sysroot.RealClock{},
		Log:         log,
		Spare:       directory.Spare(durable.OS(), o.directory, directory.RuntimeDirs()...),
		Guard:       newGuard(o.directory, mode, m.SystemCPUs(wanted.Control), descriptor(p.machine)),
		MakeAccount: fresh, Root: os.Geteuid() == 0,
		Temperature: cfg.Temperature, Probes: wanted.Probe, Allow: cfg.KernelLog.Allow,
		Extra: map[string]string{"krund": display.Version()}, Origin: f.Fingerprint(),
		Programs: files, Offset: boot.ReadOffset,
	}
	var entry boot.Entry
	if e, ok := autostart.EntryOf(cfg, mode, sysroot.New("/")); ok {
		entry = e
	}
	shown := &progress{screen: p.screen, quiet: o.quiet}
	if mode == config.RebootNone {
		executor.Terminal, executor.Line = p.screen.terminal(o.quiet), shown.around
	}
	return boot.System{
		FS:       fsys,
		Room:     room,
		Clock:    sysroot.RealClock{},
		Log:      log,
		Executor: executor,
		Machine:  taken,
		Hooks: command.Hooks{BeforeArgv: found(cfg.Hooks.Before), AfterArgv: found(cfg.Hooks.After),
			Environ: environ, Timeout: cfg.Hooks.Timeout, Log: log,
			Trust: config.Rule(mode)},
		Reboot:   boot.NewRebooter(root, log).Reboot,
		Entry:    entry,
		Notifier: notifier(cfg, mode, installed.CallerHome),
		Programs: files, AcceptChanged: o.accept,
		Decide:      decider(cfg, f.Dir(), mode, environ),
		Ship:        shipper(f.Dir(), mode, environ),
		Sync:        syncDisks,
		KeepAwake:   func(ctx context.Context) func() { return boot.KeepAwake(ctx, log) },
		DisableUnit: disableUnit(cfg, mode),
		Cleanup:     func() error { return cleanup(cfg, installed.Cgroup, taken) },
		Held:        func() (string, error) { return held(o.directory) },
		Progress:    shown,
		Version:     display.Version(), Host: cfg.Hostname, PID: os.Getpid(), Root: os.Geteuid() == 0,
		BootID: began.Name(m.Boot), BootKind: began.Kind,
	}, closeLog, nil
}

// newRoom returns the Room that frees space on the disk of the results.
func newRoom(cfg *config.Config, f directory.Directory, log *slog.Logger) *boot.Room {
	clear := func() (int, error) { return 0, nil }
	if cfg.Experiment.Account == config.AccountFresh {
		clear = func() (int, error) { return account.Empty(context.Background()) }
	}
	return &boot.Room{FS: f.FS(), Dir: f.Dir(), Reserve: boot.Reserve, Clear: clear, Log: log}
}

// commandEnviron returns the environment of hooks and notifications. It does not depend on how
// krund was started.
func commandEnviron(home string) []string {
	return []string{"PATH=" + config.SearchPath + ":/usr/sbin:/sbin", "HOME=" + home, "LANG=C.UTF-8"}
}

func notifier(cfg *config.Config, mode, home string) command.Notifier {
	n := cfg.Notify
	return command.Notifier{
		Mail: n.Mail, Sendmail: found([][]string{{n.Sendmail}})[0][0],
		Command: found([][]string{n.Command})[0], Webhook: n.Webhook,
		Trust: config.Rule(mode), Environ: commandEnviron(home),
	}
}

// cleanupTime bounds the removal of the account: its processes, files and home.
const cleanupTime = time.Minute

// cleanup removes what only executions need: the control group and the account for benchmarks.
func cleanup(cfg *config.Config, group string, m *boot.LabMachine) error {
	err := child.RemoveGroup(group)
	if cfg.Experiment.Account != config.AccountFresh {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	findings, accountErr := account.Remove(ctx)
	for _, finding := range findings {
		m.Log.Debug("account removed", "finding", finding)
	}
	// RestoreAll removes the account from the journal
	return errors.Join(err, accountErr, m.RestoreAll(ctx))
}

// programs returns the files that the experiment runs. If one of them changes, the experiment does
// not go on with it.
func programs(cfg *config.Config, in execution.Installed) *identity.Programs {
	list := func() map[string][]string { return programFiles(cfg, in) }
	return &identity.Programs{Files: list(), List: list}
}

func programFiles(cfg *config.Config, in execution.Installed) map[string][]string {
	files := identity.Files(cfg)
	files["libkrun"] = []string{in.Library}
	if argv := found([][]string{cfg.Experiment.Relink})[0]; len(argv) > 0 {
		files[identity.RelinkName] = argv[:1]
	}
	for _, name := range usedLanguages(cfg) {
		l, _ := runners.Lookup(name)
		for i, file := range l.Files {
			part := "runner-" + name
			if i > 0 {
				part += "." + filepath.Base(file)
			}
			files[part] = []string{filepath.Join(in.Runners, file)}
		}
	}
	return files
}

// identify hashes the programs of all arms, long before anything is measured, and warns of arms
// that are alike.
func identify(ctx context.Context, cfg *config.Config, p *identity.Programs, log *slog.Logger) {
	for _, twins := range identity.Alike(cfg, p.Hashes(ctx)) {
		log.Warn(twins.String())
	}
}

// held returns why the experiment in dir is held in this boot; "" if it is not held.
func held(dir string) (string, error) { return autostart.FindHold(durable.OS(), dir, sysroot.New("/")) }

// findInstalled looks for krund's other parts relative to its own path: PREFIX/bin/krund has
// PREFIX/libexec/krund and PREFIX/lib/krund, in the build directory as well as on an installed
// machine.
func findInstalled(dir string) (execution.Installed, error) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return execution.Installed{}, fmt.Errorf("find krund's own directory: %w", err)
	}
	prefix := filepath.Dir(filepath.Dir(exe))
	in := execution.Installed{
		Runners: filepath.Join(prefix, "libexec/krund"),
		Library: filepath.Join(prefix, "lib/krund/libkrun.so"),
		Krunctl: filepath.Join(filepath.Dir(exe), "krunctl"),
	}
	for _, part := range []string{filepath.Join(in.Runners, "runner-c"),
		filepath.Join(in.Runners, "runner.py"), in.Library} {
		if _, err := os.Stat(part); err != nil {
			return in, fmt.Errorf("krund is not installed completely: %w; run `make build` or `make "+
				"install`", err)
		}
	}
	// Processes that a killed krund left in this group are killed before the next run. Those of
	// another experiment must not be.
	in.Cgroup = fmt.Sprintf("krund-%08x", crc32.ChecksumIEEE([]byte(dir)))
	in.CallerName, in.CallerHome = caller()
	in.CallerEnv = os.Environ()
	return in, nil
}

// usedLanguages returns the languages of the experiment's keys, and the two that every build
// contains.
func usedLanguages(cfg *config.Config) []string {
	used := []string{config.RunnerC, config.RunnerPython}
	for _, k := range cfg.Keys() {
		vm, _, _, err := cfg.Lookup(k)
		if err == nil && vm.Runner != config.RunnerExternal && !slices.Contains(used, vm.Runner) {
			used = append(used, vm.Runner)
		}
	}
	return used
}

// runnersInstalled returns an error for each missing runner of the experiment's languages: a build
// omits the runners whose compilers are missing.
func runnersInstalled(cfg *config.Config, in execution.Installed) error {
	var errs []error
	for _, name := range usedLanguages(cfg) {
		l, _ := runners.Lookup(name)
		for _, file := range l.Files {
			if _, err := os.Stat(filepath.Join(in.Runners, file)); err != nil {
				errs = append(errs, fmt.Errorf("krund's runner for %s is not installed: %w; install its "+
					"compiler (runners/README.md) and build krund again", name, err))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// caller returns the name and home of the user who runs krund, from the system's list of accounts,
// not from the environment.
func caller() (name, home string) {
	if u, err := user.Current(); err == nil {
		return u.Username, u.HomeDir
	}
	return "nobody", "/"
}

// newLog logs everything to the experiment's log, and to stderr what a person should see
// immediately. Under systemd, stderr is the journal.
func newLog(fsys durable.FS, path string, o runOptions, stderr io.Writer) (*slog.Logger, func(), error) {
	const othersRead = 0o644 // so that other users can follow the experiment
	file, err := durable.Append(fsys, path, othersRead)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	// A crash of krund itself is logged, too: the journal may not outlive the boot.
	debug.SetTraceback("all")
	if err := debug.SetCrashOutput(file, debug.CrashOptions{}); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("write crashes to the log: %w", err), file.Close())
	}
	level := slog.LevelWarn
	switch {
	case o.quiet:
		level = slog.LevelError
	case o.verbose:
		level = slog.LevelDebug
	}
	handlers := slog.NewMultiHandler(
		slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: clipped}),
		newConsole(stderr, level, isJournal(stderr, os.Getenv("JOURNAL_STREAM"))),
	)
	return slog.New(handlers), func() { _ = file.Close() }, nil
}

// clipped bounds the length of a value in the log.
func clipped(_ []string, a slog.Attr) slog.Attr {
	if kind := a.Value.Kind(); kind == slog.KindString || kind == slog.KindAny {
		if text := a.Value.String(); len(text) > messageBytes {
			a.Value = slog.StringValue(display.Clip(text, messageBytes))
		}
	}
	return a
}

// found replaces the programs of commands by their full paths, looked up in the fixed PATH. A
// missing program keeps its name, and fails when it is run.
func found(commands [][]string) [][]string {
	list := make([][]string, len(commands))
	for i, argv := range commands {
		list[i] = slices.Clone(argv)
		if len(argv) == 0 {
			continue
		}
		if path, err := config.LookPath(argv[0]); err == nil {
			list[i][0] = path
		}
	}
	return list
}
