package jobs

import (
	"encoding/json"
	"slices"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/history"
	"krund/internal/hub/database"
)

// levelsOf compares the machines of an experiment in each key of each version, and returns JSON of
// compare.Levels; "" unless several machines share it. Versions are apart because the executions of
// a block are not independent.
func levelsOf(points []database.Point) (string, error) {
	const most = 100 // keys
	var keys []compare.KeyMachines
	at := map[string]int{}
	several := slices.ContainsFunc(points, func(p database.Point) bool {
		return p.Version != points[0].Version
	})
	for _, p := range points {
		name := p.Key
		if several {
			name += " of " + p.Version
		}
		i, ok := at[name]
		if !ok {
			i, at[name] = len(keys), len(keys)
			keys = append(keys, compare.KeyMachines{Key: name})
		}
		k := &keys[i]
		k.Machines = append(k.Machines, compare.MachineValues{Machine: p.Machine, Values: p.Values})
	}
	levels := compare.MachineLevels(keys, history.DefaultConfidence, most)
	if len(levels.Keys) == 0 {
		return "", nil
	}
	text, err := json.Marshal(levels)
	return string(text), err
}
