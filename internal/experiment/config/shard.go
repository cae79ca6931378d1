package config

import (
	"encoding/json"
	"fmt"
)

// WithShard returns the text of a configuration with the part of the experiment that a machine
// runs, the one with this index of count parts. It holds whatever the machine's name is when krund
// starts: the name may come from the network, or be changed.
func WithShard(text []byte, index, count int) []byte {
	if count <= 1 {
		return text
	}
	const added = `
# added by krunctl: the part of this machine
[machines.%q.experiment]
shard = "%d/%d"
`
	return fmt.Appendf(text, added, everyHost(string(text)), index+1, count)
}

// WithoutShard returns what a configuration says but for the part of each machine
// ([experiment] shard, also in [machines]), as JSON: the configurations of the machines that share
// an experiment are equal then. Comments and the order of the keys do not count.
func WithoutShard(text string) (string, error) {
	if len(text) > maxText {
		return "", fmt.Errorf("the configuration has more than %d bytes", maxText)
	}
	var tree map[string]any
	if err := decodeTOML(text, &tree); err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	dropShard(tree)
	if machines, ok := tree[machinesSection].(map[string]any); ok {
		for name, section := range machines {
			if of, ok := section.(map[string]any); ok && dropShard(of) {
				delete(machines, name)
			}
		}
		if len(machines) == 0 {
			delete(tree, machinesSection)
		}
	}
	rest, err := json.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("write the configuration as JSON: %w", err)
	}
	return string(rest), nil
}

// dropShard removes the key from a table's experiment, and reports whether nothing is left.
func dropShard(of map[string]any) bool {
	if experiment, ok := of["experiment"].(map[string]any); ok {
		delete(experiment, "shard")
		if len(experiment) == 0 {
			delete(of, "experiment")
		}
	}
	return len(of) == 0
}
