package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strconv"

	"krund/internal/config"
	"krund/internal/config/setting"
	"krund/internal/control"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/doctor"
	"krund/internal/identity"
	"krund/internal/msr"
	"krund/internal/pexec"
	"krund/internal/rehearsal"
	"krund/internal/sysroot"
)

// Format of the JSON of check. See docs/output.md.
const checkFormat = 1

type checkJSON struct {
	Format     int               `json:"format"`
	Experiment string            `json:"experiment"`
	Config     string            `json:"config"`
	ConfigHash string            `json:"config_hash"`
	Host       string            `json:"host"`
	Keys       int               `json:"keys"`
	Slots      int               `json:"slots"`
	Limits     limitsJSON        `json:"limits"`
	Fit        bool              `json:"fit"`
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
func alike(ctx context.Context, cfg *config.Config, in pexec.Installed) []string {
	notes := []string{}
	for _, twins := range identity.Alike(cfg, programs(cfg, in).Hashes(ctx)) {
		notes = append(notes, twins.String())
	}
	return notes
}

// check is `krund check`: it checks the configuration with all its files, and every setting of the
// machine. It changes nothing. With --try it also runs one iteration of each key.
func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	try := flags.Bool("try", false, "")
	path, err := parseWithFile(flags, args)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(path, false, false)
	if err != nil {
		return err
	}
	installed, err := findInstalled(directory.For(path))
	if err == nil {
		err = runnersInstalled(cfg, installed)
	}
	if err != nil {
		return err
	}
	watched := pexec.Executor{Installed: installed, Root: sysroot.New("/"),
		Trust: config.Rule(cfg.Experiment.Reboot)}
	if err := watched.CheckWatcher(cfg); err != nil {
		return err
	}
	w := doctor.Of(cfg, cfg.Experiment.Reboot)
	table := setting.Table{Findings: doctor.Look(ctx, control.NewMachine(ctx, sysroot.New("/")), w,
		msr.Probe)}
	out := checkJSON{
		Format: checkFormat, Experiment: cfg.Experiment.Name, Config: path, ConfigHash: cfg.Hash,
		Host: cfg.Hostname,
		Keys: len(cfg.Keys()), Slots: cfg.Slots(), Limits: limitsOf(cfg.Limits), Fit: !table.Fails(),
		Notes: alike(ctx, cfg, installed), Findings: table.Findings,
	}
	if !*asJSON {
		if err := printCheck(stdout, newScreen(stdout).columns(), cfg, out.Notes, table); err != nil {
			return err
		}
	}
	ok := out.Fit
	if *try {
		out.Tried = []rehearsal.Result{}
		if !*asJSON {
			fmt.Fprint(stdout, "\none iteration of each key, with its limits, account and libraries:\n")
		}
		err := tryKeys(ctx, cfg, stderr, func(r rehearsal.Result) {
			ok = ok && r.OK
			out.Tried = append(out.Tried, r)
			if !*asJSON {
				printRehearsal(stdout, newScreen(stdout).columns(), r)
			}
		})
		if err != nil {
			return err
		}
	}
	if *asJSON {
		to := json.NewEncoder(stdout)
		to.SetIndent("", "  ")
		if err := to.Encode(out); err != nil {
			return err
		}
	}
	if !ok {
		return errSilent
	}
	return nil
}

// printCheck prints for people what the configuration plans and what the machine is like.
func printCheck(w io.Writer, width int, cfg *config.Config, notes []string, table setting.Table) error {
	first := fmt.Sprintf("%s: %d process executions of %d keys; limits: %s", cfg.Experiment.Name,
		cfg.Slots(), len(cfg.Keys()), limitsText(cfg.Limits))
	fmt.Fprintf(w, "%s\n\n", display.Wrap(first, width, "  "))
	for _, note := range notes {
		fmt.Fprintf(w, "%s\n\n", display.Wrap("note: "+display.Terminal(note), width, "  "))
	}
	return table.Print(w, width)
}
