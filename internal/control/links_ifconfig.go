package control

import (
	"context"
	"strings"

	"krund/internal/machine/host"
)

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
