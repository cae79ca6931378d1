package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/schedule"
	"krund/internal/summary"
)

const planHelp = `Plan prints what an experiment would run, in order, and how long it would
take. It creates nothing and starts nothing; the programs and benchmarks need
not be there.

The duration is known only for keys that were measured already, in the directory
NAME.krun beside the configuration. The waits, which are often most of it, are
known in advance; the time the machine needs to restart is not, until it was
measured.

EXAMPLES
  krunctl plan warmup.toml                the first 20 slots, and the totals
  krunctl plan --limit 0 warmup.toml      all slots
  krunctl plan --host bencher7 warmup.toml    as on another machine
  krunctl plan --json warmup.toml | jq -r '.slots[].key'
` + exitHelp

type planOptions struct {
	json  bool
	limit int
	host  string
}

// planLimit is how many slots the text shows when --limit is not given.
const planLimit = 20

func planCommand(a *app) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan NAME.toml",
		Short: "Print what would run, in order, and how long it takes",
		Long:  planHelp,
		Args:  arguments(1, 1, "the experiment's configuration"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case o.limit < 0:
				return usageError{fmt.Errorf("--limit %d: a number of slots, or 0 for all", o.limit)}
			case !c.Flags().Changed("limit") && !o.json:
				o.limit = planLimit
			}
			return a.plan(args[0], o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().IntVar(&o.limit, "limit", 0, "show so many slots; 0 shows all (default 20 as text, all as JSON)")
	a.hostFlag(c.Flags(), &o.host, "")
	return c
}

// Format of the JSON of plan. See docs/output.md.
const planFormat = 1

type (
	planJSON struct {
		Format     int           `json:"format"`
		Experiment string        `json:"experiment"`
		Config     string        `json:"config"`
		ConfigHash string        `json:"config_hash"`
		Directory  string        `json:"folder"`
		Host       string        `json:"host"`
		Order      string        `json:"order"`
		Seed       uint64        `json:"seed"`
		Reboot     string        `json:"reboot"`
		Executions int           `json:"executions"`
		SlotsTotal int           `json:"slots_total"`
		Finished   int           `json:"slots_finished"` // in the directory, of the same configuration
		MaxReboots int           `json:"max_reboots"`
		WaitEachNS int64         `json:"wait_each_ns"`
		WaitOnceNS int64         `json:"wait_once_ns"`
		ETA        etaJSON       `json:"eta"`
		Notes      []string      `json:"notes"`
		Keys       []planKeyJSON `json:"keys"`
	}
	planKeyJSON struct {
		Key        string `json:"key"`
		Executions int    `json:"executions"`
		Iterations int    `json:"iterations"`
		Parameter  int    `json:"parameter"`
		MeanWallNS *int64 `json:"mean_process_wall_ns"`
	}
	planSlotJSON struct {
		Slot  int    `json:"slot"`
		Pexec int    `json:"pexec"`
		Key   string `json:"key"`
	}
)

func (a *app) plan(path string, o planOptions) error {
	cfg, err := a.parseConfig(path, o.host)
	if err != nil {
		return err
	}
	p, err := a.planOf(cfg, path)
	if err != nil {
		return err
	}
	slots := schedule.Plan(cfg.Keys(), cfg.Experiment.Executions, cfg.Experiment.Order, cfg.Experiment.Seed)
	limit := o.limit
	if limit == 0 {
		limit = p.SlotsTotal
	}
	if o.json {
		return a.planAsJSON(p, slots, limit)
	}
	a.planAsText(p, slots, limit)
	return nil
}

func (a *app) planOf(cfg *config.Config, path string) (planJSON, error) {
	e := cfg.Experiment
	waits := summary.WaitsOf(cfg)
	p := planJSON{
		Format: planFormat, Experiment: e.Name, Config: cfg.Path, ConfigHash: cfg.Hash, Directory: directory.For(path), Host: cfg.Hostname,
		Order: e.Order, Seed: e.Seed, Reboot: e.Reboot, Executions: e.Executions, SlotsTotal: cfg.Slots(), MaxReboots: e.MaxReboots,
		WaitEachNS: int64(waits.Each), WaitOnceNS: int64(waits.Once), Notes: []string{},
	}
	v, samples, err := a.progressSoFar(&p)
	if err != nil {
		return planJSON{}, err
	}
	var left []summary.Remaining
	means := summary.MeanTimes(samples)
	for _, k := range cfg.Keys() {
		_, _, bench, err := cfg.Lookup(k)
		if err != nil {
			return planJSON{}, err
		}
		row := planKeyJSON{Key: k.String(), Executions: e.Executions, Iterations: cfg.Iterations(k), Parameter: bench.Parameter}
		if mean, ok := means[k]; ok {
			ns := int64(mean)
			row.MeanWallNS = &ns
		}
		p.Keys = append(p.Keys, row)
		left = append(left, summary.Remaining{Key: k, Count: e.Executions})
	}
	started := false
	if v != nil {
		left, started = v.left(), v.seen.Attempts > 0
		p.Finished = v.seen.Final()
	}
	p.ETA = etaOf(summary.Estimate(left, samples, waits, started))
	return p, nil
}

// progressSoFar looks into the experiment's directory. It returns no survey when
// there is none, or when it is of another configuration: then its samples are
// still worth something.
func (a *app) progressSoFar(p *planJSON) (*survey, []summary.Sample, error) {
	f, err := directory.Open(a.fsys, p.Directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := a.openSchedule(f)
	if err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("what is in the directory does not count here: %v", err))
		return nil, nil, nil
	}
	defer s.Close() //nolint:errcheck // it was only read
	v, err := look(s, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("read the schedule: %w", err)
	}
	samples := v.samples(a.reader(f))
	if s.Header().ConfigHash != p.ConfigHash {
		p.Notes = append(p.Notes, "the directory's experiment was started with another text of this configuration: krund will refuse to go on with it; give the new one another name")
		return nil, samples, nil
	}
	return v, samples, nil
}

// planAsJSON writes the plan, and the slots one by one: there may be millions.
func (a *app) planAsJSON(p planJSON, slots func(func(schedule.Slot) bool), limit int) error {
	head, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	const end = "\n}"
	a.print("%s,\n  \"slots\": [", head[:len(head)-len(end)])
	for slot := range slots {
		if slot.Index >= limit {
			break
		}
		comma := ","
		if slot.Index == 0 {
			comma = ""
		}
		line, err := json.Marshal(planSlotJSON{Slot: slot.Index, Pexec: slot.Pexec, Key: slot.Key.String()})
		if err != nil {
			return err
		}
		a.print("%s\n    %s", comma, line)
	}
	a.print("\n  ]\n}\n")
	return nil
}

func (a *app) planAsText(p planJSON, slots func(func(schedule.Slot) bool), limit int) {
	a.line("experiment", "%s (%s)", p.Experiment, p.Config)
	a.line("machine", "%s", p.Host)
	a.line("order", "%s, seed %d", p.Order, p.Seed)
	a.line("slots", "%d: %s, %s each", p.SlotsTotal, display.Count(len(p.Keys), "key"), display.Count(p.Executions, "process execution"))
	if p.Reboot == config.RebootHardware {
		a.line("reboots", "one before each process execution, at most %d", p.MaxReboots)
	} else {
		a.line("reboots", "none")
	}
	a.line("waits", "%s with each process execution, %s once", display.Duration(time.Duration(p.WaitEachNS)), display.Duration(time.Duration(p.WaitOnceNS)))
	if p.Finished > 0 {
		a.line("finished", "%d of them, in %s", p.Finished, p.Directory)
	}
	a.line("duration", "%s", etaText(p.ETA))
	for _, n := range p.Notes {
		a.line("note", "%s", n)
	}
	a.print("\n")
	a.planKeys(p.Keys)
	a.print("\n%8s  %7s  %s\n", "slot", "pexec", "key")
	for slot := range slots {
		if slot.Index >= limit {
			a.print("%8s  %d more; --limit 0 shows all\n", "...", p.SlotsTotal-limit)
			break
		}
		a.print("%8d  %7d  %s\n", slot.Index, slot.Pexec, slot.Key)
	}
}

func (a *app) planKeys(keys []planKeyJSON) {
	var rows [][]string
	for _, k := range keys {
		mean := "-"
		if k.MeanWallNS != nil {
			mean = display.Nanoseconds(float64(*k.MeanWallNS))
		}
		rows = append(rows, []string{k.Key, strconv.Itoa(k.Executions), strconv.Itoa(k.Iterations), strconv.Itoa(k.Parameter), mean})
	}
	display.Table(a.stdout, []string{"key", ">executions", ">iterations", ">parameter", ">mean wall"}, rows)
}
