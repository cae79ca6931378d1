package ship

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/schedule"
)

// ProgressOf returns how far an experiment is on this machine, called host, and its name.
func ProgressOf(f experiment.Experiment, host string) (p api.Progress, name string, err error) {
	s, err := summary.StatusOf(f, host)
	if err != nil {
		return p, "", err
	}
	p = api.Progress{Slots: s.Slots.Total, Completed: s.Slots.Completed,
		Failed: s.Slots.Error + s.Slots.Timeout, Skipped: s.Slots.Skipped,
		Left: s.Slots.Total - s.Slots.Finished, Ended: s.State == summary.StateFinished}
	if p.Held, err = f.Asked(directory.Hold); err != nil {
		return p, "", err
	}
	stop, err := f.Asked(directory.Stop) // then it was the last execution
	if err != nil {
		return p, "", err
	}
	p.Ended = p.Ended || stop
	if s.Next != nil {
		p.Running = display.Clip(s.Next.Key, mostText)
	}
	if ns := s.ETA.RemainingNS; ns != nil {
		p.Seconds = *ns / int64(time.Second)
		if p.Left > 0 {
			p.NextBoot = p.Seconds/int64(p.Left) + 1
		}
	}
	for _, e := range s.Errors[:min(len(s.Errors), api.MaxFailures)] {
		p.Failures = append(p.Failures, api.Failure{Slot: e.Slot, Attempt: e.Attempt,
			Key: display.Clip(e.Key, mostText), Outcome: e.Outcome, Reason: display.Clip(e.Reason, mostText)})
	}
	if last := s.Last; last != nil {
		rec, err := f.Reader().Load(results.Name{Slot: last.Slot, Attempt: last.Attempt})
		if err == nil { // else krunctl check describes it
			p.Controls, p.Unfit = controls(&rec)
		}
	}
	p.Flags, err = flags(f, s.Slots.Total)
	return p, s.Experiment, err
}

// controls returns how many controls a record has, and the names of those that were not as wanted.
func controls(r *results.Record) (checked int, unfit []string) {
	for _, c := range r.Machine.Controls {
		switch c.Status {
		case "off":
		case "ok", "set":
			checked++
		default:
			checked++
			unfit = append(unfit, display.Clip(c.Name, mostText))
		}
	}
	return checked, unfit
}

// mostText is how many bytes of a key or a reason are sent.
const mostText = 1000

// flags returns the flags of the slots; "" if there are too many.
func flags(f experiment.Experiment, slots int) (string, error) {
	if slots == 0 || slots > api.MaxFlags {
		return "", nil
	}
	s, err := f.OpenSchedule()
	if err != nil {
		return "", err
	}
	defer s.Close() //nolint:errcheck // it was only read
	list := make([]byte, 0, slots)
	for slot, err := range s.Slots() {
		if err != nil { // damaged; krunctl check describes it
			slot.Flag = schedule.Outstanding
		}
		list = append(list, byte(slot.Flag))
	}
	return string(list), nil
}

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
