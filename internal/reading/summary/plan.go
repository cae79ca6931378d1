package summary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"krund/internal/durable"
	"krund/internal/durable/foreign"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/stop"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
)

// PlanFormat is the version of Plan. docs/output.md describes its fields.
const PlanFormat = 1

// Plan describes the slots an experiment would run, and the estimated duration.
type Plan struct {
	Format     int       `json:"format"`
	Experiment string    `json:"experiment"`
	Config     string    `json:"config"`
	ConfigHash string    `json:"config_hash"`
	Directory  string    `json:"folder"`
	Host       string    `json:"host"`
	Order      string    `json:"order"`
	Seed       uint64    `json:"seed"`
	Reboot     string    `json:"reboot"`
	Executions int       `json:"executions"`
	Shard      string    `json:"shard"` // the part of the experiment on this machine, "1/3"; "": all
	SlotsTotal int       `json:"slots_total"`
	Finished   int       `json:"slots_finished"` // in a directory of this configuration
	MaxReboots int       `json:"max_reboots"`
	WaitEachNS int64     `json:"wait_each_ns"`
	WaitOnceNS int64     `json:"wait_once_ns"`
	ETA        ETA       `json:"eta"`
	Notes      []string  `json:"notes"`
	Layout     string    `json:"layout"`
	Arms       []PlanArm `json:"arms"` // the first is the base; empty: nothing is compared
	Keys       []PlanKey `json:"keys"`
	Skipped    []string  `json:"skipped"` // keys that experiment.skip leaves out
	Stop       *Stop     `json:"stop"`    // null: no key is finished early
	Bounds     *Bounds   `json:"bounds"`  // null: all executions and iterations are run
}

// PlanArm is an arm of a plan.
type PlanArm struct {
	Name     string `json:"name"`
	Null     bool   `json:"null"`
	Anchor   bool   `json:"anchor,omitempty"`
	Revision string `json:"revision"`
}

// PlanKey is a key of a plan.
type PlanKey struct {
	Key        string `json:"key"`
	Executions int    `json:"executions"`
	Iterations int    `json:"iterations"`
	Parameter  int    `json:"parameter"`
	MeanWallNS *int64 `json:"mean_process_wall_ns"` // null: never measured
}

// PlanSlot is a slot of a plan.
type PlanSlot struct {
	Slot  int    `json:"slot"`
	Pexec int    `json:"pexec"`
	Key   string `json:"key"`
}

// PlanSlots yields the slots of the plan of the configuration at path in order; there may be
// millions. If the experiment grew, its editions say in which order.
func PlanSlots(fsys durable.FS, cfg *config.Config, path string) iter.Seq[PlanSlot] {
	stages := schedule.StagesOf(cfg)
	if e, err := experiment.Open(fsys, directory.For(path)); err == nil {
		editions, err := identity.LoadEditions(fsys, e.Editions())
		grown, unread := identity.Stages(editions, cfg.Earlier)
		if err == nil && unread == nil && len(grown) > 0 {
			now := grown[len(grown)-1].Config
			if same, _, err := cfg.AsBegun([]byte(now.Text)); err == nil && same != nil {
				stages = grown
			}
		}
	}
	return func(yield func(PlanSlot) bool) {
		for slot := range schedule.PlanOf(stages) {
			if !yield(PlanSlot{Slot: slot.Index, Pexec: slot.Pexec, Key: slot.Key.String()}) {
				return
			}
		}
	}
}

// PlanOf plans the experiment of the configuration at path. The content of its directory is used if
// it was made from a configuration that means the same. Nothing is changed.
func PlanOf(ctx context.Context, fsys durable.FS, cfg *config.Config, path string) (Plan, error) {
	e := cfg.Experiment
	waits := WaitsOf(cfg)
	p := Plan{
		Format: PlanFormat, Experiment: e.Name, Config: cfg.Path, ConfigHash: cfg.Hash,
		Directory: directory.For(path), Host: cfg.Hostname, Order: e.Order, Seed: e.Seed, Layout: e.Layout,
		Reboot: e.Reboot, Executions: e.Executions, Shard: e.Shard.String(),
		SlotsTotal: cfg.Slots(), MaxReboots: e.MaxReboots,
		WaitEachNS: int64(waits.Each), WaitOnceNS: int64(waits.Once), Notes: []string{},
		Arms: []PlanArm{}, Skipped: []string{},
	}
	for _, k := range cfg.Skipped() {
		p.Skipped = append(p.Skipped, k.String())
	}
	for _, arm := range cfg.Arms {
		p.Arms = append(p.Arms, PlanArm{arm.Name, arm.Null, arm.Anchor, arm.Revision})
	}
	if len(cfg.Arms) > 0 {
		p.Notes = alike(ctx, cfg)
	}
	for _, v := range cfg.Variants {
		if v.Suite != nil && len(v.Suite.LeftOut) > 0 {
			p.Notes = append(p.Notes, "of the suite "+v.Name+" is left out: "+
				strings.Join(v.Suite.LeftOut, "; "))
		}
	}
	v, samples, err := p.progress(fsys, cfg)
	if err != nil {
		return Plan{}, err
	}
	var left []Remaining
	means := MeanTimes(samples)
	for _, k := range cfg.Keys() {
		_, _, bench, err := cfg.Lookup(k)
		if err != nil {
			return Plan{}, err
		}
		row := PlanKey{
			Key: k.String(), Executions: cfg.Executions(k), Iterations: cfg.Iterations(k),
			Parameter: bench.Parameter,
		}
		if mean, ok := means[k]; ok {
			row.MeanWallNS = new(int64(mean))
		}
		p.Keys = append(p.Keys, row)
		left = append(left, Remaining{Key: k, Count: cfg.Executions(k)})
	}
	started := false
	if v != nil {
		left, started = v.left(), v.seen.Attempts > 0
		p.Finished = v.seen.Final()
	}
	p.ETA = Estimate(left, samples, waits, started)
	decided := stop.Decisions{Groups: []stop.Group{}}
	if v != nil && p.Finished > 0 {
		if e, err := experiment.Open(fsys, p.Directory); err == nil {
			if decided, err = stop.Load(fsys, e.Decisions()); err != nil {
				p.Notes = append(p.Notes, err.Error())
			}
		}
	}
	p.Stop = stopOf(cfg, v, samples, decided)
	p.Bounds = boundsOf(cfg, v, samples, decided)
	return p, nil
}

// alike describes arms that are alike. It asks the files of the arms, which may not answer.
func alike(ctx context.Context, cfg *config.Config) []string {
	notes, err := foreign.Within(ctx, func() []string {
		programs := identity.Programs{Files: identity.Files(cfg)}
		list := []string{}
		for _, twins := range identity.Alike(cfg, programs.Hashes(ctx)) {
			list = append(list, twins.String())
		}
		return list
	})
	if err != nil {
		return []string{fmt.Sprintf("the programs of the arms were not compared: %v", err)}
	}
	return notes
}

// progress reads the experiment's directory. It returns no survey if there is no directory or it
// belongs to another configuration; in the latter case its samples are still used.
func (p *Plan) progress(fsys durable.FS, cfg *config.Config) (*survey, []Sample, error) {
	e, err := experiment.Open(fsys, p.Directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := e.OpenSchedule()
	if err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("the content of the directory is not used: %v", err))
		return nil, nil, nil
	}
	defer s.Close() //nolint:errcheck // it was only read
	v, err := surveyOf(s, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("read the schedule: %w", err)
	}
	samples := v.samples(e.Reader())
	_, other := e.AsBegun(cfg, s.Header().ConfigHash)
	if other != nil && other.Was != nil {
		p.Notes = append(p.Notes, "krund has not taken this up yet: "+other.Growth(cfg.Slots()))
		before := len(v.keys)
		v.grow(cfg)
		left := func(k schedule.KeyCounts) bool { return k.Outstanding > 0 }
		if len(v.keys) > before && !slices.ContainsFunc(v.keys[:before], left) {
			p.Notes = append(p.Notes, "what is new would be measured alone, after the rest, so that compare "+
				"could not tell the one from the other; more executions of all are measured in turns: "+
				"`krunctl run --executions +10`")
		}
		return v, samples, nil
	}
	if other != nil {
		p.Notes = append(p.Notes, "krund will refuse to continue the directory's experiment: "+other.Error())
		return nil, samples, nil
	}
	return v, samples, nil
}
