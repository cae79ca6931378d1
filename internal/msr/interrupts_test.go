package msr

import (
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// traced has the tracepoints of interrupts; the numbers are those of a Linux 6.12.
var traced = xeon.and(tree{
	tracepoints + "/irq_vectors/local_timer_entry/id": "69\n",
	tracepoints + "/irq/irq_handler_entry/id":         "155\n",
})

// TestInterrupts: the tracepoints are the last events of each group, and missing ones are named.
func TestInterrupts(t *testing.T) {
	const both = "timer_interrupts, device_interrupts"
	for _, test := range []struct {
		name, scope, columns, note string
		machine                    tree
		refuse                     bool
	}{
		{"task", Task, both, "", traced, false},
		{"core", PerCore, "timer_interrupts on core 1, device_interrupts on core 1", "", traced, false},
		{"arm64", Task, "device_interrupts", "no timer_interrupts: this kernel has no tracepoint",
			xeon.and(tree{tracepoints + "/irq/irq_handler_entry/id": "155\n"}), false},
		{"refused", Task, "smi, device_interrupts", "no timer_interrupts: perf_event_open: permission denied",
			traced, true},
		{"no tracefs", Task, "page_faults, smi", "no device_interrupts: tracefs is not mounted", xeon, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newKernel(t)
			if test.refuse {
				k.refuse["timer_interrupts"] = errRefused["eacces"]
			}
			c, r := system{open: k.openEvent, load: noModules}.choose(t.Context(), test.machine.root(t),
				Want{Sources: []string{Perf}, Scope: test.scope, Interrupts: true})
			must.Need(t, c != nil, r)
			must.Be(t, strings.HasSuffix(names(c), ", "+test.columns) &&
				strings.Contains(r.String(), test.note), "columns", names(c), r)
			for name, config := range map[string]uint64{"timer_interrupts": 69, "device_interrupts": 155} {
				i := slices.IndexFunc(k.calls, func(c call) bool { return c.name == name })
				if i >= 0 && k.calls[i].config != config {
					t.Errorf("%s is tracepoint %d; want %d", name, k.calls[i].config, config)
				}
			}
			err := c.Close()
			must.Be(t, err == nil && k.left() == 0, "close", err)
		})
	}
}
