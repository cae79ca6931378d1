package control

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// A perfState is OpenBSD's performance setting: the policy (manual, auto, high; "" where the system
// has none) and the level in percent. It prints as "manual 50".
type perfState struct {
	policy string
	level  int
}

func (s perfState) String() string { return strings.TrimSpace(fmt.Sprintf("%s %d", s.policy, s.level)) }

// full reports whether the machine runs at full speed permanently. The policy "auto" does not
// count, since it lowers the level on its own.
func (s perfState) full() bool { return s.level == 100 && s.policy != "auto" }

// parsePerfState is the inverse of String.
func parsePerfState(text string) (perfState, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 || len(fields) > 2 {
		return perfState{}, fmt.Errorf("%q is not a performance setting", clip(text))
	}
	level, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || level < 0 || level > 100 {
		return perfState{}, fmt.Errorf("%q is not a performance level", clip(text))
	}
	s := perfState{level: level}
	if len(fields) == 2 {
		s.policy = fields[0]
	}
	return s, nil
}

func isPerfState(text string) bool {
	_, err := parsePerfState(text)
	return err == nil && isWords(text)
}

// readPerfState reads hw.perfpolicy and hw.setperf.
func readPerfState(ctx context.Context, c host.Commands) (perfState, error) {
	policy, err := sysctlGet(ctx, c, "hw.perfpolicy")
	if err != nil && !errors.Is(err, errNoVariable) {
		return perfState{}, err
	}
	level, err := sysctlGet(ctx, c, "hw.setperf")
	if err != nil {
		return perfState{}, err
	}
	return parsePerfState(policy + " " + level)
}

// apm sets the processor to full speed: with `apm -H`, as in the study, or, if apmd is not running,
// with hw.perfpolicy=manual and hw.setperf=100.
var apm = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "apm", Policy: setting.Require,
		Brief: "OpenBSD: full speed",
		Why:   frequencyWhy,
		What:  "`apm -H`; if apmd is not running, `hw.perfpolicy` = `manual` and `hw.setperf` = 100",
		Notes: "`auto` does not count as full speed, since it lowers the speed on its own. Kernels with " +
			"separate policies for mains and battery show only the active one: on a laptop krund " +
			"restores that one for both, until the next reboot",
	},
	targets: []target{{kind: KindPerform, name: is("hw.setperf"), values: from(isPerfState)}},
	plan:    fixed(planAPM),
}

func planAPM(ctx context.Context, m *Machine) Plan {
	const wanted = "manual 100"
	state, err := readPerfState(ctx, m.Commands)
	if errors.Is(err, errNoVariable) {
		return cannot("no hw.setperf", wanted, "the processor's speed cannot be set",
			"enable frequency control in the firmware, or measure on bare metal")
	}
	if err != nil {
		return unreadable(wanted, err)
	}
	p := ok(state.String(), wanted)
	if !state.full() {
		p = willSet(state.String(), wanted,
			Step{Kind: KindPerform, Target: "hw.setperf", Old: state.String(), New: wanted})
	}
	p.Detail = apmdState(ctx, m.Commands)
	return p
}

// apmdState describes whether apmd runs and with which flags, as rcctl reports it.
func apmdState(ctx context.Context, c host.Commands) string {
	out, err := c.Output(ctx, "rcctl", "check", "apmd")
	if err != nil || !strings.Contains(string(out), "(ok)") {
		return "apmd is not running"
	}
	flags, err := c.Output(ctx, "rcctl", "get", "apmd", "flags")
	if text := strings.TrimSpace(string(flags)); err == nil && text != "" {
		return "apmd runs with " + text
	}
	return "apmd runs"
}

// performApplier sets OpenBSD's performance.
type performApplier struct{ commands host.Commands }

func (a performApplier) do(ctx context.Context, s Step) (string, error) {
	_, asked := a.commands.Output(ctx, "apm", "-H")
	state, err := readPerfState(ctx, a.commands)
	if err == nil && !state.full() {
		err = a.set(ctx, perfState{policy: "manual", level: 100}, state.policy != "")
		if err == nil {
			state, err = readPerfState(ctx, a.commands)
		}
	}
	if err == nil && !state.full() {
		err = fmt.Errorf("set performance: reads back as %s", state)
	}
	if err != nil {
		return "", errors.Join(err, asked)
	}
	return state.String(), nil
}

// set writes policy and level. The level can be written only under the policy "manual"; the other
// policies choose it themselves.
func (a performApplier) set(ctx context.Context, to perfState, hasPolicy bool) error {
	if hasPolicy && to.policy != "" {
		if _, err := sysctlSet(ctx, a.commands, "hw.perfpolicy", to.policy); err != nil {
			return err
		}
	}
	if to.policy == "auto" || to.policy == "high" {
		return nil
	}
	_, err := sysctlSet(ctx, a.commands, "hw.setperf", strconv.Itoa(to.level))
	return err
}

func (a performApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	old, err := parsePerfState(s.Old)
	if err != nil {
		return Failed, err
	}
	now, err := readPerfState(ctx, a.commands)
	same := now == old || now.policy == old.policy && (old.policy == "auto" || old.policy == "high")
	return back(same, err, func() error { return a.set(ctx, old, now.policy != "") })
}
