package main

import (
	"math"
	"strings"

	"krund/internal/analysis/optimise"
)

// shared is a configuration for all keys of an experiment, to write into its
// TOML: of executions and iterations the most that a good key needs, which is
// one that is stable with a result within the accuracy of the full one.
type shared struct {
	Executions int         `json:"executions"`
	Iterations int         `json:"iterations"`
	VMs        []vmMinimum `json:"vms"`
	Good       int         `json:"good_keys"` // keys that are good with it
}

// vmMinimum is a VM whose keys need fewer iterations.
type vmMinimum struct {
	VM         string `json:"vm"`
	Iterations int    `json:"iterations"`
}

// sharedOf combines the recommendations of good keys; nil when there are none
// or when the levels are not those of an experiment of krund.
func sharedOf(s *optimise.Suite, results []optimise.Result, o optimise.Options) (*shared, error) {
	if len(s.Levels) != 2 || s.Levels[0] != optimise.Executions() || s.Levels[1] != optimise.Iterations() {
		return nil, nil
	}
	c := &shared{VMs: []vmMinimum{}}
	var vms []string
	need := map[string]int{}
	for i := range results {
		if !results[i].Stable || !(math.Abs(results[i].AverageDiff) <= o.Accuracy) {
			continue
		}
		at := results[i].Minimal.At
		vm := vmOf(results[i].Name)
		if _, known := need[vm]; !known {
			vms = append(vms, vm)
		}
		c.Executions = max(c.Executions, int(at[0]))
		need[vm] = max(need[vm], int(at[1])+s.Benchmarks[i].Skip)
		c.Iterations = max(c.Iterations, need[vm])
	}
	if len(vms) == 0 {
		return nil, nil
	}
	for _, vm := range vms {
		if need[vm] < c.Iterations {
			c.VMs = append(c.VMs, vmMinimum{vm, need[vm]})
		}
	}
	for i := range results {
		b := &s.Benchmarks[i]
		iterations, known := need[vmOf(b.Name)]
		if !known {
			iterations = c.Iterations
		}
		_, good, err := optimise.Evaluate(s, i, optimise.Position{int32(c.Executions), int32(iterations - b.Skip), 1}, o)
		if err != nil {
			return nil, err
		}
		if good {
			c.Good++
		}
	}
	return c, nil
}

// vmOf is the VM in the name of a key.
func vmOf(name string) string {
	parts := strings.Split(name, ":")
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}
