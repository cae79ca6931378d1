package control

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
)

// network takes interfaces down after all other controls, and brings them up first. What is lost
// when they go down (routes and IPv6 addresses) is in the journal, so that the machine can be
// reached again however krund ends.
var network = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "network", Policy: setting.Off,
		Brief: "network interfaces down while measuring",
		Why:   "incoming packets interrupt the processor at any time",
		Options: []setting.Option{{
			Name: "down", Default: []string{}, Values: "list of globs",
			Doc: "names or patterns of interfaces, `\"*\"` for all; never the loopback",
		}},
		What: "interfaces down; OpenBSD: `ifconfig IF down`",
		Notes: "applied last and restored first. A Linux interface that goes down loses its routes, " +
			"permanent neighbors and IPv6 addresses; they are saved in the journal and restored",
	},
	targets: []target{{kind: KindLink, name: linkForm.MatchString, values: wasUp}},
	plan:    planDown,
}

func planDown(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	down := d.List("down")
	if len(down) == 0 {
		return ok("none configured", "none")
	}
	wanted := strings.Join(down, " ") + " down"
	if m.Links == nil {
		return cannot("unknown", wanted, "krund cannot control interfaces on this system",
			"take them down in a hook")
	}
	links, err := m.Links.List()
	if err != nil {
		return unreadable(wanted, err)
	}
	return planNetwork(m.Links, links, down, wanted)
}

// linkForm matches the name of an interface: IFNAMSIZ of the kernel's include/uapi/linux/if.h
// bounds its length.
var linkForm = regexp.MustCompile(`^[^\s/]{1,15}$`)

// wasUp reports whether a step takes an interface down. Links.Up checks Data, the state to restore.
func wasUp(s Step) bool { return s.Old == "up" }

func planNetwork(l Links, links []Link, patterns []string, wanted string) Plan {
	var steps []Step
	var up []string
	var names []string
	for _, link := range links {
		names = append(names, link.Name)
		if !link.Up || link.Loopback || !matches(patterns, link.Name) {
			continue
		}
		saved, err := l.Save(link.Name)
		if err != nil {
			return unreadable(wanted, err)
		}
		up = append(up, link.Name)
		steps = append(steps, Step{Kind: KindLink, Target: link.Name, Old: "up", New: "down", Data: saved})
	}
	p := ok("down", wanted)
	if len(steps) > 0 {
		p = willSet(strings.Join(up, ", ")+" up", wanted, steps...)
	}
	p.Detail = unmatched(patterns, names, "no such interface")
	return p
}

// linkApplier brings interfaces up and down.
type linkApplier struct{ links Links }

// up reports whether an interface is up; known is false if it does not exist.
func (a linkApplier) up(name string) (up, known bool, err error) {
	links, err := a.links.List()
	i := slices.IndexFunc(links, func(l Link) bool { return l.Name == name })
	if err != nil || i < 0 {
		return false, false, err
	}
	return links[i].Up, true, nil
}

func (a linkApplier) do(_ context.Context, s Step) (string, error) {
	if err := a.links.Down(s.Target); err != nil {
		return "", fmt.Errorf("take %s down: %w", s.Target, err)
	}
	up, _, err := a.up(s.Target)
	if err == nil && up {
		err = fmt.Errorf("take %s down: it is up again", s.Target)
	}
	return "down", err
}

func (a linkApplier) restore(_ context.Context, s Step) (Restoration, error) {
	_, known, err := a.up(s.Target)
	if err != nil {
		return Failed, err
	}
	if !known {
		return Gone, nil
	}
	changed, err := a.links.Up(s.Target, s.Data)
	switch {
	case err != nil:
		return Failed, fmt.Errorf("bring %s up: %w", s.Target, err)
	case changed:
		return Restored, nil
	}
	return Already, nil
}
