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
	"strconv"
	"strings"
	"time"

	"krund/internal/boot"
	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/execution/identity"
	"krund/internal/execution/rehearsal"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/machine/sysroot"
	"krund/internal/msr"
	"krund/internal/schedule"
)

// Format of the JSON of check. See docs/output.md.
const checkFormat = 1

type checkJSON struct {
	Format     int               `json:"format"`
	Experiment string            `json:"experiment"`
	Config     string            `json:"config"`
	ConfigHash string            `json:"config_hash"`
	Host       string            `json:"host"`
	Reboot     string            `json:"reboot"` // of the run that was judged
	Keys       int               `json:"keys"`
	Slots      int               `json:"slots"`
	Limits     limitsJSON        `json:"limits"`
	Fit        bool              `json:"fit"`
	Instead    string            `json:"instead"` // how to measure on a machine that is not fit; "" if unknown
	Notes      []string          `json:"notes"`
	Findings   []setting.Finding `json:"findings"`
	// of --try; null without it
	Tried []rehearsal.Result `json:"tried"`
}

// limitsJSON contains the limits of each process execution; nil is no limit.
type limitsJSON struct {
	HeapBytes  *int64 `json:"heap_bytes"`
	StackBytes *int64 `json:"stack_bytes"`
	TimeoutNS  *int64 `json:"timeout_ns"`
	Processes  *int64 `json:"processes"`
	HomeBytes  *int64 `json:"home_bytes"`
}

func limitsOf(l config.Limits) limitsJSON {
	some := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return limitsJSON{
		HeapBytes: some(l.Heap), StackBytes: some(l.Stack), TimeoutNS: some(l.Timeout.Nanoseconds()),
		Processes: some(l.Processes), HomeBytes: some(l.Home),
	}
}

// limitsText returns the limits of each process execution for people.
func limitsText(l config.Limits) string {
	some := func(n int64, text string) string {
		if n == 0 {
			return "any"
		}
		return text
	}
	return fmt.Sprintf("heap %s, stack %s, time %s, processes %s, home %s",
		some(l.Heap, config.FormatSize(l.Heap)), some(l.Stack, config.FormatSize(l.Stack)),
		some(int64(l.Timeout), l.Timeout.String()), some(l.Processes, strconv.FormatInt(l.Processes, 10)),
		some(l.Home, config.FormatSize(l.Home)))
}

// alike describes arms that are alike; the list is not nil.
func alike(ctx context.Context, cfg *config.Config, in execution.Installed) []string {
	notes := []string{}
	for _, twins := range identity.Alike(cfg, programs(cfg, in).Hashes(ctx)) {
		notes = append(notes, twins.String())
	}
	return notes
}

// checkOptions are the flags of `krund check`.
type checkOptions struct {
	path   string // of the configuration, absolute
	reboot string // as for run
	quick  bool
	json   bool
	try    bool
}

func parseCheck(args []string) (o checkOptions, err error) {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.reboot, "reboot", "", "")
	flags.BoolVar(&o.quick, "quick", false, "")
	flags.BoolVar(&o.json, "json", false, "")
	flags.BoolVar(&o.try, "try", false, "")
	if o.path, err = parseWithFile(flags, args); err != nil {
		return o, err
	}
	o.reboot, err = restartsBy(o.reboot, o.quick)
	return o, err
}

// check is `krund check`: it checks the configuration with all its files, and every setting of the
// machine that the run needs. It changes nothing. With --try it also runs one iteration of each
// key.
func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseCheck(args)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(o.path, false, o.quick)
	if err != nil {
		return err
	}
	if o.reboot != "" {
		cfg = cfg.WithReboot(o.reboot)
	}
	installed, err := findInstalled(directory.For(o.path))
	if err == nil {
		err = runnersInstalled(cfg, installed)
	}
	if err != nil {
		return err
	}
	watched := execution.Executor{Installed: installed, Root: sysroot.New("/"),
		Trust: config.Rule(cfg.Experiment.Reboot)}
	if err := watched.CheckWatcher(cfg); err != nil {
		return err
	}
	look := func(reboot string) setting.Table {
		findings := doctor.Look(ctx, control.NewMachine(ctx, sysroot.New("/")), doctor.Of(cfg, reboot),
			msr.Probe)
		if !config.Restarts(reboot) && os.Geteuid() != 0 { // with reboots, it is the unit that runs it
			findings = unprivileged(findings)
		}
		return setting.Table{Findings: findings}
	}
	table := look(cfg.Experiment.Reboot)
	out := checkJSON{
		Format: checkFormat, Experiment: cfg.Experiment.Name, Config: o.path, ConfigHash: cfg.Hash,
		Host: cfg.Hostname, Reboot: cfg.Experiment.Reboot,
		Keys: len(cfg.Keys()), Slots: cfg.Slots(), Limits: limitsOf(cfg.Limits), Fit: !table.Fails(),
		Notes: alike(ctx, cfg, installed), Findings: table.Findings,
	}
	if !out.Fit {
		out.Instead = insteadOf(o, cfg, look(config.RebootNone), os.Args[0])
	}
	if !o.json {
		if err := printCheck(stdout, newScreen(stdout).columns(), cfg, out, table); err != nil {
			return err
		}
	}
	ok := out.Fit
	if o.try {
		out.Tried = []rehearsal.Result{}
		if !o.json {
			fmt.Fprint(stdout, "\none iteration of each key, with its limits, account and libraries:\n")
		}
		err := tryKeys(ctx, cfg, stderr, func(r rehearsal.Result) {
			ok = ok && r.OK
			out.Tried = append(out.Tried, r)
			if !o.json {
				printRehearsal(stdout, newScreen(stdout).columns(), r)
			}
		})
		if err != nil {
			return err
		}
	}
	if o.json {
		if err := display.WriteJSON(stdout, out); err != nil {
			return err
		}
	}
	if !ok {
		return errSilent
	}
	return nil
}

// unprivileged returns what the findings are for a krund that is not root: it can set nothing.
func unprivileged(findings []setting.Finding) []setting.Finding {
	for i, f := range findings {
		if f.Status == setting.StatusWillSet {
			findings[i].Status, findings[i].Fix = setting.StatusCannot, "run it as root, which can set it"
		}
	}
	return findings
}

// insteadOf returns how this machine can measure although it is not fit for what was asked;
// without is what a run without reboots would find. It returns "" if that lacks more than settings.
func insteadOf(o checkOptions, cfg *config.Config, without setting.Table, arg0 string) string {
	var demands []string
	for _, problem := range setting.Problems(without.Findings) {
		isSetting := func(d setting.Demand) bool { return d.Name == problem.Control }
		if !slices.ContainsFunc(cfg.Controls, isSetting) {
			return "" // such as an interpreter; the table says what to do
		}
		demands = append(demands, problem.Control+` = "warn"`)
	}
	flag := "--reboot none"
	if o.quick {
		flag = "--quick"
	}
	run := fmt.Sprintf("%s run %s %s", display.Program(arg0, "krund"), flag, display.ShellPath(o.path))
	if len(demands) == 0 {
		return run
	}
	return "set " + strings.Join(demands, ", ") + " in [controls], then " + run
}

// printCheck prints for people what the configuration plans and what the machine is like.
func printCheck(w io.Writer, width int, cfg *config.Config, out checkJSON, table setting.Table) error {
	restarts := "without reboots"
	if config.Restarts(out.Reboot) {
		restarts = fmt.Sprintf("each after a restart (%s)", out.Reboot)
	}
	first := fmt.Sprintf("%s: %s of %s, %s; limits: %s", cfg.Experiment.Name,
		display.Count(cfg.Slots(), "process execution"), display.Count(len(cfg.Keys()), "key"), restarts,
		limitsText(cfg.Limits))
	fmt.Fprintf(w, "%s\n\n", display.Wrap(first, width, "  "))
	for _, note := range out.Notes {
		fmt.Fprintf(w, "%s\n\n", display.Wrap("note: "+display.Terminal(note), width, "  "))
	}
	if err := table.Print(w, width); err != nil {
		return err
	}
	if out.Instead != "" { // one line, to be copied
		fmt.Fprintf(w, "measure here without control: %s\n", out.Instead)
	}
	return nil
}

// tryKeys is the part of `krund check --try` that runs benchmarks: one iteration of each key. It
// touches nothing of the experiment. show gets each result.
func tryKeys(ctx context.Context, cfg *config.Config, stderr io.Writer, show func(rehearsal.Result)) error {
	dir, mode := directory.For(cfg.Path), cfg.Experiment.Reboot
	return asGuest(ctx, cfg, dir, dir+" try", mode, stderr, func(in execution.Installed, a account.Account,
		scratch string) error {
		return rehearsal.Run(ctx, cfg, rehearsal.Setting{Cgroup: in.Cgroup, Root: os.Geteuid() == 0,
			Account: a, Directory: dir, Scratch: scratch,
			Executor: execution.Executor{Runner: child.Runner{}, Installed: in, Root: sysroot.New("/"),
				Trust: config.Rule(mode)}}, show)
	})
}

// asGuest runs work beside experiments: with a control group of its own, the account for benchmarks
// made anew if cfg wants it, and an empty directory, all of which are removed again. It is refused
// while another krund uses that account. what is for its message, group the control group's name.
func asGuest(ctx context.Context, cfg *config.Config, what, group, mode string, stderr io.Writer,
	work func(in execution.Installed, a account.Account, scratch string) error) (err error) {
	lock, err := lockMachine(ctx, cfg, what, mode, os.Geteuid() == 0, stderr, directory.RuntimeDirs()...)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	}
	in, err := findInstalled(group)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "krund-guest-")
	if err != nil {
		return err
	}
	fresh := cfg.Experiment.Account == config.AccountFresh
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		if fresh {
			_, removeErr := account.Remove(after)
			err = errors.Join(err, removeErr)
		}
		err = errors.Join(err, child.RemoveGroup(in.Cgroup), os.RemoveAll(scratch))
	}()
	var a account.Account
	if fresh {
		if a, _, err = account.Fresh(ctx, cfg.Limits.Home); err != nil {
			return err
		}
	}
	if err = work(in, a, scratch); errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// printRehearsal prints the result of a key for people.
func printRehearsal(w io.Writer, width int, r rehearsal.Result) {
	state := "ok"
	switch {
	case !r.OK:
		state = "fails"
	case len(r.Warnings) > 0:
		state = "look"
	}
	fmt.Fprintf(w, "%-5s  %s, %s\n", state, r.Key, time.Duration(r.WallNS).Round(time.Millisecond))
	for _, text := range append(r.Reasons, r.Warnings...) {
		fmt.Fprintf(w, "%s\n", display.Wrap("       "+printable(text), width, "       "))
	}
	if r.Fix != "" {
		fmt.Fprintf(w, "%s\n", display.Wrap("       do: "+display.PlainLine(r.Fix), width, "       "))
	}
}

// dryRun is `krund run --dry-run`: it prints what would run, and changes nothing.
func dryRun(o runOptions, stdout io.Writer) error {
	cfg, err := loadConfig(o.path, boot.Started(durable.OS(), o.directory), o.quick)
	if err != nil {
		return err
	}
	left, done, growth, err := leftIn(o.directory, cfg)
	if err != nil {
		return err
	}
	reboot := cfg.Experiment.Reboot
	if o.reboot != "" {
		reboot = o.reboot
	}
	how := "without reboots"
	if config.Restarts(reboot) {
		how = "each after a reboot"
	}
	fmt.Fprintf(stdout, "would run %d of %s of %s, %s, with results in %s\n", left,
		display.Count(cfg.Slots(), "process execution"), display.Count(len(cfg.Keys()), "key"), how,
		o.directory)
	if growth != "" {
		fmt.Fprintln(stdout, growth)
	}
	for _, k := range cfg.Keys() {
		if n := cfg.Executions(k) - done[k]; n > 0 {
			fmt.Fprintf(stdout, "  run   %s, %s of %s\n", k, display.Count(n, "execution"),
				display.Count(cfg.Iterations(k), "iteration"))
		}
	}
	for _, k := range cfg.Skipped() {
		fmt.Fprintf(stdout, "  skip  %s\n", k)
	}
	fmt.Fprintf(stdout, "`%s check --plan %s` shows the order and the time; nothing was started\n",
		krunctl(), display.ShellPath(o.path))
	return nil
}

// leftIn returns how many slots of the experiment in dir are left to run, all if it has not begun,
// how many of each key are finished, and a sentence about how it would grow before that; "" if it
// would not.
func leftIn(dir string, cfg *config.Config) (left int, done map[key.Key]int, growth string, err error) {
	f, err := directory.Open(durable.OS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg.Slots(), nil, "", nil
	}
	if err != nil {
		return 0, nil, "", err
	}
	s, err := schedule.Open(f.FS(), f.Schedule(), false)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg.Slots(), nil, "", nil
	}
	if err != nil {
		return 0, nil, "", err
	}
	defer s.Close()                   //nolint:errcheck // read-only
	quick := config.IsQuick(cfg.Text) // replaces an earlier one
	_, other := f.AsBegun(cfg, s.Header().ConfigHash)
	switch {
	case other != nil && quick:
		return cfg.Slots(), nil, "", nil
	case other != nil && other.Was != nil:
		growth = other.Growth(cfg.Slots())
	case other != nil:
		return 0, nil, "", other
	}
	sum, err := s.Summarize()
	done = make(map[key.Key]int, len(sum.Keys))
	for _, k := range sum.Keys {
		done[k.Key] = k.Final()
	}
	if left = cfg.Slots() - sum.Final(); left > 0 || err != nil || !quick {
		return left, done, growth, err
	}
	return cfg.Slots(), nil, "", nil
}
