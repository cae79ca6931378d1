package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/probe"
)

// compare compares the machine with the one that the experiment began on, whose fingerprint it
// stores the first time, but for the programs that are measured. It returns the changes as remarks,
// or as an error if the configuration requires the same machine throughout.
func (m *LabMachine) compare(now probe.Fingerprint) ([]string, error) {
	text, err := durable.ReadFile(m.FS, m.Origin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, m.remember(now)
	}
	if err != nil {
		return nil, fmt.Errorf("read the machine's fingerprint: %w", err)
	}
	var origin probe.Fingerprint
	if err := json.Unmarshal(text, &origin); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; remove it to accept this machine as the one that the "+
			"experiment began on", m.Origin, err)
	}
	var changed, state []string
	for _, d := range probe.Diff(origin, now) {
		if identity.Measured(d.Name) {
			continue // see samePrograms
		}
		if strings.HasPrefix(d.Name, probe.StatePrefix) {
			if d.Old != "" && d.New != "" { // an older krund did not read it
				state = append(state, "a setting has changed since the experiment began: "+d.String())
			}
			continue
		}
		changed = append(changed, "the machine is not the one that the experiment began on: "+d.String())
	}
	if len(changed) > 0 && m.Probes.Fingerprint == setting.Require {
		return nil, fmt.Errorf("%s\nrevert the change, or remove %s to continue with the machine as it is",
			strings.Join(changed, "\n"), m.Origin)
	}
	return append(changed, state...), nil
}

func (m *LabMachine) remember(now probe.Fingerprint) error {
	text, err := json.MarshalIndent(now, "", " ")
	if err == nil {
		err = durable.WriteFile(m.FS, m.Origin, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("store the machine's fingerprint: %w; repair the disk and start krund again",
			err)
	}
	return nil
}
