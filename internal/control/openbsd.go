package control

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// errNoVariable means that the system has no such sysctl variable.
var errNoVariable = errors.New("no such variable")

// sysctlGet reads a variable with sysctl(8). For a variable that does not exist, or has no value on
// this machine, OpenBSD's sysctl reports that on standard error, prints nothing on standard output
// and exits with 0 (sysctl.c, parse); an empty value is an empty line. It exits with 0 even if the
// kernel rejects a new value, so only reading the variable back detects that.
func sysctlGet(ctx context.Context, c host.Commands, name string) (string, error) {
	if c == nil {
		return "", errNoVariable
	}
	out, err := c.Output(ctx, "sysctl", "-n", name)
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", errors.Join(errNoVariable, err)
	}
	if len(out) == 0 {
		return "", errNoVariable
	}
	// If the two outputs are joined, text is that message.
	if strings.HasSuffix(text, "value is not available") || strings.HasPrefix(text, "sysctl: ") {
		return "", errNoVariable
	}
	return text, nil
}

// sysctlSet writes a variable and reads it back.
func sysctlSet(ctx context.Context, c host.Commands, name, value string) (string, error) {
	if _, err := c.Output(ctx, "sysctl", name+"="+value); err != nil {
		return "", err
	}
	got, err := sysctlGet(ctx, c, name)
	if err == nil && got != value {
		err = &sysroot.Mismatch{Name: name, Wrote: value, Read: got}
	}
	return got, err
}

// sysctlApplier changes variables of sysctl(8).
type sysctlApplier struct{ commands host.Commands }

func (a sysctlApplier) do(ctx context.Context, s Step) (string, error) {
	return sysctlSet(ctx, a.commands, s.Target, s.New)
}

func (a sysctlApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	now, err := sysctlGet(ctx, a.commands, s.Target)
	return back(err == nil && now == s.Old, nil, func() error {
		_, err := sysctlSet(ctx, a.commands, s.Target, s.Old)
		return err
	})
}

// Rcctl controls OpenBSD's services with rcctl(8).
type Rcctl struct{ Commands host.Commands }

// List returns the services that rcctl knows, with the state that `rcctl ls started` shows.
func (r Rcctl) List(ctx context.Context, patterns []string) ([]Unit, error) {
	all, err := r.names(ctx, "all")
	started, err2 := r.names(ctx, "started")
	if err := cmp.Or(err, err2); err != nil {
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

// Ifconfig brings interfaces up and down with OpenBSD's ifconfig(8). There an interface that goes
// down keeps its addresses, and static routes return with it, so nothing needs to be saved.
type Ifconfig struct{ Commands host.Commands }

// List returns all interfaces.
func (c Ifconfig) List() ([]Link, error) {
	out, err := c.Commands.Output(context.Background(), "ifconfig")
	return parseIfconfig(string(out)), err
}

// parseIfconfig reads the first line of each interface: "em0:
// flags=808843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> mtu 1500".
func parseIfconfig(text string) []Link {
	var links []Link
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(line, ": flags=")
		if !found || name == "" || strings.ContainsAny(name, " \t") {
			continue
		}
		_, flags, _ := strings.Cut(rest, "<")
		flags, _, _ = strings.Cut(flags, ">")
		flags = "," + flags + ","
		links = append(links, Link{Name: name, Up: strings.Contains(flags, ",UP,"),
			Loopback: strings.Contains(flags, ",LOOPBACK,")})
	}
	return links
}

// Save returns nothing: no state is lost.
func (Ifconfig) Save(string) (string, error) { return "", nil }

// Down takes an interface down.
func (c Ifconfig) Down(name string) error {
	_, err := c.Commands.Output(context.Background(), "ifconfig", name, "down")
	return err
}

// Up brings an interface up.
func (c Ifconfig) Up(name, _ string) (changed bool, err error) {
	links, err := c.List()
	if err != nil {
		return false, err
	}
	for _, l := range links {
		if l.Name == name && l.Up {
			return false, nil
		}
	}
	_, err = c.Commands.Output(context.Background(), "ifconfig", name, "up")
	return err == nil, err
}
