package control

import (
	"context"
	"slices"
	"strings"
)

// Systemctl switches units with systemctl(1).
type Systemctl struct{ Commands Commands }

// List returns the loaded units that match.
func (s Systemctl) List(ctx context.Context, patterns []string) ([]Unit, error) {
	out, err := s.Commands.Output(ctx, "systemctl", append([]string{"list-units", "--all", "--plain", "--full", "--no-legend", "--no-pager", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	units := parseUnits(string(out))
	var services []string
	for _, u := range units {
		if u.Active && strings.HasSuffix(u.Name, ".service") {
			services = append(services, u.Name)
		}
	}
	if len(services) == 0 {
		return units, nil
	}
	out, err = s.Commands.Output(ctx, "systemctl", append([]string{"show", "--property=Id,TriggeredBy", "--"}, services...)...)
	if err != nil {
		return nil, err
	}
	triggers := parseTriggers(string(out))
	for i := range units {
		units[i].TriggeredBy = triggers[units[i].Name]
	}
	return units, nil
}

// parseUnits reads the columns UNIT LOAD ACTIVE SUB DESCRIPTION. A mark before the name of a failed or missing unit is passed over.
func parseUnits(text string) []Unit {
	var units []Unit
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 0 && slices.Contains([]string{"*", "●", "○", "×", "x", "↻"}, fields[0]) {
			fields = fields[1:]
		}
		if len(fields) < 4 || !strings.Contains(fields[0], ".") {
			continue
		}
		units = append(units, Unit{Name: fields[0], Active: unitActive(fields[2])})
	}
	return units
}

// unitActive tells whether an ActiveState of systemd means that the unit is up or coming up.
func unitActive(state string) bool {
	return state == "active" || state == "activating" || state == "reloading" || state == "refreshing"
}

// parseTriggers reads blocks of "Id=..." and "TriggeredBy=a b", in any order, parted by empty lines.
func parseTriggers(text string) map[string][]string {
	triggers := map[string][]string{}
	for _, block := range strings.Split(text, "\n\n") {
		var id string
		var by []string
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch name {
			case "Id":
				id = value
			case "TriggeredBy":
				by = strings.Fields(value)
			}
		}
		if id != "" && len(by) > 0 {
			triggers[id] = by
		}
	}
	return triggers
}

// Stop stops a unit and waits for it.
func (s Systemctl) Stop(ctx context.Context, name string) error {
	_, err := s.Commands.Output(ctx, "systemctl", "stop", "--", name)
	return err
}

// Start starts a unit and waits for it.
func (s Systemctl) Start(ctx context.Context, name string) error {
	_, err := s.Commands.Output(ctx, "systemctl", "start", "--", name)
	return err
}
