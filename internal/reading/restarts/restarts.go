// Package restarts reads how the boots of an experiment began, so that executions after restarts of
// the hardware can be compared with those after faster ones. Start reading at [Kinds].
package restarts

import (
	"errors"
	"fmt"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
)

// Execution is one in the order of the schedule, with how its boot began.
type Execution struct {
	Key    key.Key // without an arm
	Number int
	Kind   string // of the restart, see results.Record.Reboot
}

// Spread is the variation of one key's executions between restarts of the hardware.
type Spread struct {
	Key string `json:"key"`
	*compare.RestartSpread
}

// bothKinds is what to do about an experiment without two kinds of restarts.
const bothKinds = "measure with experiment.reboot = \"kexec\" or \"soft\", and hardware_every = 5 for " +
	"instance"

// Kinds returns the two kinds of restart in the data, that of the hardware first.
func Kinds(in experiment.Input, order []Execution) ([2]string, error) {
	kinds := [2]string{results.RebootHardware}
	for _, r := range order {
		switch {
		case r.Key.Arm != "":
			return kinds, errors.New("the experiment has arms; kinds of restarts can be compared only in " +
				"one without arms")
		case r.Kind == results.RebootHardware, r.Kind == kinds[1]:
		case kinds[1] != "":
			return kinds, fmt.Errorf("there are two kinds of restarts other than of the hardware, %s and %s",
				kinds[1], r.Kind)
		default:
			kinds[1] = r.Kind
		}
	}
	if in.Data.Format != experiment.Format || kinds[1] == "" {
		return kinds, errors.New("there is one kind of restart only; " + bothKinds)
	}
	for _, kind := range kinds {
		if err := experiment.HasArm(in.Data, kind); err != nil {
			return kinds, fmt.Errorf("there is no execution after a restart of kind %s; %s", kind,
				bothKinds)
		}
	}
	return kinds, nil
}

// Spreads estimates the variation between restarts of the hardware for each key. Executions after a
// faster restart belong to the last restart of the hardware before them.
func Spreads(doc *warmup.Document, order []Execution) []Spread {
	levels := map[Execution]float64{}
	for _, p := range doc.Pairs {
		for _, e := range p.Executions {
			if e.Level != nil {
				k := key.Key{Benchmark: p.Benchmark, VM: p.VM, Variant: p.Variant}
				levels[Execution{k, e.Number, p.Arm}] = e.Level.Value
			}
		}
	}
	var keys []key.Key
	boots := map[key.Key][][]float64{}
	boot := 0
	for _, r := range order {
		if r.Kind == results.RebootHardware {
			boot++
		}
		level, ok := levels[r]
		if !ok {
			continue
		}
		if boots[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		for len(boots[r.Key]) <= boot {
			boots[r.Key] = append(boots[r.Key], nil)
		}
		boots[r.Key][boot] = append(boots[r.Key][boot], level)
		delete(levels, r) // an attempt that was rerun has the same number
	}
	list := []Spread{}
	for _, k := range keys {
		s := Spread{Key: k.String()}
		if found, ok := compare.RestartSpreadOf(boots[k]); ok {
			s.RestartSpread = &found
		}
		list = append(list, s)
	}
	return list
}
