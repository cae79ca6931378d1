package joined

import (
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/config"
)

// What a configuration of another user can make root do. The owner of a machine allows each by its
// name.
const (
	AllowHooks    = "hooks"    // commands as root
	AllowNotify   = "notify"   // commands as root, mails, requests to other servers
	AllowBoot     = "boot"     // another entry of the boot loader
	AllowServices = "services" // services stopped, such as the one that one logs in by
	AllowNetwork  = "network"  // network interfaces taken down
	AllowCaller   = "caller"   // benchmarks run as the user who runs krund: as root
)

// AllowNames are the names above.
func AllowNames() []string {
	return []string{AllowHooks, AllowNotify, AllowBoot, AllowServices, AllowNetwork, AllowCaller}
}

// Refused returns an error if root may not run the configuration of another user, because it
// demands something that is not in allowed. All else in a configuration is run by the benchmark's
// account, or is a setting that krund restores.
func Refused(cfg *config.Config, allowed []string) error {
	n := cfg.Notify
	stops := func(control, option string) bool {
		demand := cfg.Control(control)
		return demand.Policy.Changes() && len(demand.List(option)) > 0
	}
	var refused []string
	for _, demand := range []struct {
		name, keys string
		is         bool
	}{
		{AllowHooks, "[hooks]", len(cfg.Hooks.Before)+len(cfg.Hooks.After) > 0},
		{AllowNotify, "[notify]", len(n.Mail)+len(n.Command) > 0 || n.Webhook != ""},
		{AllowBoot, "boot.entry", cfg.Boot.Entry != ""},
		{AllowServices, "controls.services", stops("services", "stop")},
		{AllowNetwork, "controls.network", stops("network", "down")},
		{AllowCaller, `experiment.account = "caller"`, cfg.Experiment.Account != config.AccountFresh},
	} {
		if demand.is && !slices.Contains(allowed, demand.name) {
			refused = append(refused, fmt.Sprintf("%s (%q)", demand.keys, demand.name))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("%s: this machine's owner does not allow %s; remove that from the configuration, or "+
		"add the name to allow in the machine's hub.toml", cfg.Experiment.Name, strings.Join(refused, ", "))
}
