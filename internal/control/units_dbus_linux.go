package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
)

// jobTimeout bounds how long a unit may take to start or stop; systemd itself gives up after 90
// seconds by default.
const jobTimeout = 2 * time.Minute

// Systemd controls units over D-Bus, and with systemctl if the bus cannot be reached.
type Systemd struct{ Fallback Systemctl }

// connect returns a connection to systemd, over its private socket for root. The caller closes it.
func (Systemd) connect(ctx context.Context) (*dbus.Conn, error) {
	c, err := dbus.NewWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	return c, nil
}

// List returns the loaded units that match.
func (s Systemd) List(ctx context.Context, patterns []string) ([]Unit, error) {
	c, err := s.connect(ctx)
	if err != nil {
		units, second := s.Fallback.List(ctx, patterns)
		if second != nil {
			return nil, errors.Join(err, second)
		}
		return units, nil
	}
	defer c.Close()
	states, err := c.ListUnitsByPatternsContext(ctx, nil, patterns)
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	var units []Unit
	for _, st := range states {
		u := Unit{Name: st.Name, Active: unitActive(st.ActiveState), Running: st.SubState == subRunning}
		if u.Active && stoppable(u.Name) {
			properties, err := c.GetUnitPropertiesContext(ctx, u.Name)
			if err != nil {
				return nil, fmt.Errorf("read unit %s: %w", u.Name, err)
			}
			for _, name := range neededBy {
				list, _ := properties[name].([]string)
				u.NeededBy = append(u.NeededBy, list...)
			}
			u.TriggeredBy, _ = properties["TriggeredBy"].([]string)
			u.Transient, _ = properties["Transient"].(bool)
		}
		units = append(units, u)
	}
	return units, nil
}

// Triggers returns the units that a socket, timer or path starts.
func (s Systemd) Triggers(ctx context.Context, name string) ([]string, error) {
	c, err := s.connect(ctx)
	if err != nil {
		names, second := s.Fallback.Triggers(ctx, name)
		if second != nil {
			return nil, errors.Join(err, second)
		}
		return names, nil
	}
	defer c.Close()
	p, err := c.GetUnitPropertyContext(ctx, name, "Triggers")
	if err != nil {
		return nil, fmt.Errorf("read unit %s: %w", name, err)
	}
	names, _ := p.Value.Value().([]string)
	return names, nil
}

// Stop stops a unit and waits for it.
func (s Systemd) Stop(ctx context.Context, name string) error {
	return s.job(ctx, name, (*dbus.Conn).StopUnitContext, s.Fallback.Stop)
}

// Start starts a unit and waits for it.
func (s Systemd) Start(ctx context.Context, name string) error {
	return s.job(ctx, name, (*dbus.Conn).StartUnitContext, s.Fallback.Start)
}

// job runs a systemd job to completion.
func (s Systemd) job(ctx context.Context, name string,
	begin func(*dbus.Conn, context.Context, string, string, chan<- string) (int, error),
	fallback func(context.Context, string) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		if second := fallback(ctx, name); second != nil {
			return errors.Join(err, second)
		}
		return nil
	}
	defer c.Close()
	done := make(chan string, 1)
	if _, err := begin(c, ctx, name, "replace", done); err != nil {
		return err
	}
	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("the systemd job ended with %q", result)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for systemd: %w", context.Cause(ctx))
	}
}
