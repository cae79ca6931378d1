package ship

import (
	"context"
	"maps"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/hub/api"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

// shown are the names of the fingerprint that the hub shows of a machine, beside those that begin
// with "memory." and "bios.".
var shown = []string{"board.name", "clocksource", "cpu.frequency_driver", "cpu.microcode", "cpu.model",
	"cpu.present", "cpu.topology", "kernel.release", "kernel.version", "os", "system.product",
	"system.vendor"}

// FactsOf returns what the hub shows of a machine.
func FactsOf(ctx context.Context, h host.Host) map[string]string {
	facts := probe.ReadFingerprint(ctx, h, map[string]string{"krund": display.Version()})
	size := 0
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		kind, _, _ := strings.Cut(name, ".")
		facts[name] = display.Clip(facts[name], display.MaxMessage)
		wanted := name == "krund" || kind == "memory" || kind == "bios" || slices.Contains(shown, name)
		if size += len(name) + len(facts[name]); !wanted || size > api.MaxFacts {
			delete(facts, name)
		}
	}
	return facts
}
