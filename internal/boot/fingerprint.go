package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/probe"
	"krund/internal/schedule"
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

// base returns the temperatures that each execution starts from. The first execution takes them
// when the settings are applied and the disks written, the state in which the gate compares with
// them: idle states, frequencies and the network change the temperature at rest by several degrees.
// If the schedule has none later, because its header was rebuilt or the machine had no sensors when
// the experiment began, base takes them again, and the remark for the record says so.
func (x *experiment) base(ctx context.Context) (base []results.Temperature, remarks []string, err error) {
	if base := x.schedule.Header().BaseTemperatures; len(base) > 0 {
		return base, nil, nil
	}
	if base, err = x.Machine.Base(ctx); err != nil || len(base) == 0 {
		return nil, nil, err // not configured
	}
	x.Progress.Step("waiting to read the base temperatures", x.cfg.Temperature.BaseWait)
	if err := x.Clock.Sleep(ctx, x.cfg.Temperature.BaseWait); err != nil {
		return nil, nil, err
	}
	if base, err = x.Machine.Base(ctx); err != nil {
		return nil, nil, err
	}
	keep := func() error {
		return x.schedule.UpdateHeader(func(h *schedule.Header) { h.BaseTemperatures = base })
	}
	if keep() != nil { // the header has no room for all
		base = base[:min(len(base), schedule.SpareSensors)]
		if err := keep(); err != nil {
			return nil, nil, fmt.Errorf("store the base temperatures: %w", err)
		}
	}
	if listing, err := x.reader.List(); err == nil && len(listing.Records) == 0 {
		return base, nil, nil // the first execution
	}
	x.Log.Warn("the base temperatures of the experiment were lost and have been read again",
		"sensors", len(base))
	return base, []string{fmt.Sprintf("the schedule had no base temperatures: those of %d sensors were "+
		"read again before this execution", len(base))}, nil
}
