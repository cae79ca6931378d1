package control

import (
	"context"
	"path"
	"slices"
	"strings"

	"krund/internal/machine/host"
)

// Systemctl controls units with systemctl(1).
type Systemctl struct{ Commands host.Commands }

// List returns the loaded units that match.
func (s Systemctl) List(ctx context.Context, patterns []string) ([]Unit, error) {
	out, err := s.Commands.Output(ctx, "systemctl",
		append([]string{"list-units", "--all", "--plain", "--full", "--no-legend", "--no-pager", "--"},
			patterns...)...)
	if err != nil {
		return nil, err
	}
	units := parseUnits(string(out))
	var names []string
	for _, u := range units {
		if u.Active && stoppable(u.Name) {
			names = append(names, u.Name)
		}
	}
	if len(names) == 0 {
		return units, nil
	}
	properties := "--property=Id,Transient,TriggeredBy," + strings.Join(neededBy[:], ",")
	out, err = s.Commands.Output(ctx, "systemctl", append([]string{"show", properties, "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	shown := parseShown(string(out))
	for i, u := range units {
		if s, there := shown[u.Name]; there {
			units[i].TriggeredBy, units[i].NeededBy, units[i].Transient = s.TriggeredBy, s.NeededBy,
				s.Transient
		}
	}
	return units, nil
}

// parseUnits reads the columns UNIT LOAD ACTIVE SUB DESCRIPTION. A mark before the name of a failed
// or missing unit is skipped.
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
		units = append(units, Unit{Name: fields[0], Active: unitActive(fields[2]),
			Running: fields[3] == subRunning})
	}
	return units
}

// subRunning is the sub-state of a service that is up and has a process. One that is at work to
// start, as a service of Type=oneshot that a timer has triggered, has another.
const subRunning = "running"

// unitActive reports whether an ActiveState of systemd means that the unit is up or coming up.
func unitActive(state string) bool {
	return state == "active" || state == "activating" || state == "reloading" || state == "refreshing"
}

// stoppable reports whether a unit is of a kind that krund may stop.
func stoppable(name string) bool {
	switch path.Ext(name) {
	case ".service", ".socket", ".timer", ".path":
		return true
	}
	return false
}

// neededBy are the properties of a unit that list the units that systemd stops with it
// (systemd.unit(5): Requires=, Requisite=, BindsTo=, PartOf=).
var neededBy = [...]string{"RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf"}

// parseShown reads blocks of "Id=...", "TriggeredBy=a b" and the like, in any order, separated by
// empty lines.
func parseShown(text string) map[string]Unit {
	units := map[string]Unit{}
	for _, block := range strings.Split(text, "\n\n") {
		var u Unit
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case name == "Id":
				u.Name = value
			case name == "Transient":
				u.Transient = value == "yes"
			case name == "TriggeredBy":
				u.TriggeredBy = strings.Fields(value)
			case slices.Contains(neededBy[:], name):
				u.NeededBy = append(u.NeededBy, strings.Fields(value)...)
			}
		}
		if u.Name != "" {
			units[u.Name] = u
		}
	}
	return units
}

// Triggers returns the units that a socket, timer or path starts.
func (s Systemctl) Triggers(ctx context.Context, name string) ([]string, error) {
	out, err := s.Commands.Output(ctx, "systemctl", "show", "--value", "--property=Triggers", "--", name)
	return strings.Fields(string(out)), err
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
