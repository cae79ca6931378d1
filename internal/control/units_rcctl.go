package control

import (
	"context"
	"strings"

	"krund/internal/machine/host"
)

// Rcctl controls OpenBSD's services with rcctl(8).
type Rcctl struct{ Commands host.Commands }

// List returns the services that rcctl knows, with the state that `rcctl ls started` shows.
func (r Rcctl) List(ctx context.Context, patterns []string) ([]Unit, error) {
	all, err := r.names(ctx, "all")
	if err != nil {
		return nil, err
	}
	started, err := r.names(ctx, "started")
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	for _, name := range started {
		active[name] = true
	}
	var units []Unit
	for _, name := range all {
		if matches(patterns, name) {
			units = append(units, Unit{Name: name, Active: active[name]})
		}
	}
	return units, nil
}

// names returns the list that `rcctl ls WHAT` prints, one name per line.
func (r Rcctl) names(ctx context.Context, what string) ([]string, error) {
	out, err := r.Commands.Output(ctx, "rcctl", "ls", what)
	return strings.Fields(string(out)), err
}

// Triggers returns nothing: OpenBSD has no units that trigger services.
func (Rcctl) Triggers(context.Context, string) ([]string, error) { return nil, nil }

// Stop stops a service.
func (r Rcctl) Stop(ctx context.Context, name string) error {
	_, err := r.Commands.Output(ctx, "rcctl", "stop", name)
	return err
}

// Start starts a service, even if it is not enabled at boot.
func (r Rcctl) Start(ctx context.Context, name string) error {
	_, err := r.Commands.Output(ctx, "rcctl", "-f", "start", name)
	return err
}
