package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/hub/store"
	"krund/internal/hub/submit"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
)

// What the simulated nights have in common. A history finds a change with its tenth version at the
// earliest, and tells machines apart with six versions before the change.
const (
	nightly = "nightly" // name of the experiments
	nights  = 12        // each measures the two revisions of its day
	slower  = 11        // with this revision and the later ones the program is slower, on all machines
	heated  = 18        // from this revision on one machine is slower
	culprit = "bench-3" // that machine
)

// nightText is the configuration of a night, for two revisions.
//
//go:embed night.toml
var nightText string

// submitNights puts the nights into the queue of a pool, each to be shared by all machines. dir is
// a temporary directory.
func submitNights(ctx context.Context, client *api.Client, dir string) error {
	for _, name := range []string{"json", "queens", "regex", "sort"} {
		if err := os.MkdirAll(filepath.Join(dir, "benchmarks", name), 0o755); err != nil {
			return err
		}
		program := filepath.Join(dir, "benchmarks", name, "bench.py")
		if err := os.WriteFile(program, []byte("# simulated\n"), 0o600); err != nil {
			return err
		}
	}
	s := submit.Session{Client: client, Clock: sysroot.RealClock{}, Say: func(string, ...any) {}}
	file := filepath.Join(dir, nightly+".toml")
	for night := range nights {
		text := fmt.Appendf(nil, nightText, revision(2*night), revision(2*night+1))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		cfg, err := experiment.ParseConfig(durable.OS(), file, pool)
		if err != nil {
			return err
		}
		what := api.Submission{ID: api.NewID(), Target: pool, Machines: machines}
		if err := s.Send(ctx, cfg, nil, what); err != nil {
			return err
		}
	}
	return nil
}

func revision(number int) string { return fmt.Sprintf("r%02d", number+1) }

// measureNight sends simulated records of a machine's part of a night; dir is where it is unpacked.
func measureNight(ctx context.Context, client *api.Client, name, dir string, next api.Next) error {
	file, err := unpack(ctx, client, dir, next)
	if err != nil {
		return err
	}
	cfg, err := experiment.ParseConfig(durable.OS(), file, name)
	if err != nil {
		return err
	}
	records, err := simulate(cfg, next.Name, name, dir)
	if err != nil {
		return err
	}
	s := api.Ship{Status: api.Status{BootID: name, Host: name},
		Experiment: &api.ShippedExperiment{ID: next.Experiment, Name: next.Name, ConfigHash: cfg.Hash,
			Progress: api.Progress{Slots: len(records), Completed: len(records), Ended: true}},
		Entries: []api.Entry{{Name: "config.toml", Hash: store.Hash([]byte(cfg.Text)),
			Size: int64(len(cfg.Text))}}}
	contents := map[string][]byte{s.Entries[0].Hash: []byte(cfg.Text)}
	for slot, text := range records {
		e := api.Entry{Slot: slot, Attempt: 1, Hash: store.Hash(text), Size: int64(len(text))}
		s.Entries, contents[e.Hash] = append(s.Entries, e), text
	}
	_, err = client.Ship(ctx, s, func(e api.Entry) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(contents[e.Hash])), nil
	})
	return err
}

// simulate returns the records of a machine's part of a night, by slot.
func simulate(cfg *config.Config, name, machine, dir string) (records [][]byte, err error) {
	for number := 1; number <= cfg.Experiment.Executions; number++ {
		if !cfg.Experiment.Shard.Has(number) {
			continue
		}
		for _, k := range cfg.Keys() {
			slot := len(records)
			r := results.Record{Key: k, Experiment: name, ConfigHash: cfg.Hash, Host: machine, Slot: slot,
				Attempt: 1, Pexec: number, Outcome: results.Completed, Reasons: []string{},
				Reboot: results.RebootNone, Clock: "CLOCK_MONOTONIC_RAW"}
			r.StartNS, r.WallNS = iterations(k, machine, number)
			r.Iterations = len(r.WallNS)
			if err := results.NewAppender(durable.OS(), dir).Append(r); err != nil {
				return nil, err
			}
			text, err := os.ReadFile(filepath.Join(dir, results.Name{Slot: slot, Attempt: 1}.String()))
			if err != nil {
				return nil, err
			}
			records = append(records, text)
		}
	}
	return records, nil
}

// iterations are those of an execution: the same for the same arguments.
func iterations(k key.Key, machine string, number int) (start, wall []int64) {
	const count, usual, sd, between = 20, 1e6, 0.003, 2e6
	base := fnv.New64a()
	_, _ = fmt.Fprint(base, k.Benchmark, machine) // it cannot fail
	all := fnv.New64a()
	_, _ = fmt.Fprint(all, k, machine, number) // it cannot fail
	random := rand.New(rand.NewPCG(all.Sum64(), 1))
	level := usual * (1 + float64(base.Sum64()%100)/100) * math.Exp(sd*random.NormFloat64())
	if k.Arm >= revision(slower) { // arms have the names of their revisions
		level *= 1.05
	}
	if machine == culprit && k.Arm >= revision(heated) {
		level *= 1.08
	}
	for i := range int64(count) {
		start = append(start, i*between*2)
		wall = append(wall, int64(level*math.Exp(sd*random.NormFloat64())))
	}
	return start, wall
}
