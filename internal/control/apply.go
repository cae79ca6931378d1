package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
)

// An Undo restores what was changed, the last change first. It continues past changes that cannot
// be restored; its error names them. Calling it again retries only those. It does not stop when its
// context ends.
type Undo func(context.Context) error

// CheckAll reports the state of every setting, one finding per name, in the order of the list. It
// only reads.
func CheckAll(ctx context.Context, m *Machine, r Request) []setting.Finding {
	var findings []setting.Finding
	for _, c := range Controls(r) {
		findings = merge(findings, c.Check(ctx, m))
	}
	return findings
}

// merge adds a finding to a list, or combines it with the finding of the same name: a control with
// two parts has one row.
func merge(findings []setting.Finding, f setting.Finding) []setting.Finding {
	i := slices.IndexFunc(findings, func(g setting.Finding) bool { return g.Name == f.Name })
	if i < 0 {
		return append(findings, f)
	}
	g := &findings[i]
	if rank(f.Status) > rank(g.Status) {
		g.Status = f.Status
	}
	g.Found = join(g.Found, f.Found, ", ")
	g.Wanted = join(g.Wanted, f.Wanted, ", ")
	g.Detail = join(g.Detail, f.Detail, "; ")
	g.Fix = join(g.Fix, f.Fix, "; ")
	return findings
}

// rank orders statuses by precedence: combined findings have the highest one.
func rank(s setting.Status) int {
	return slices.Index([]setting.Status{setting.StatusOff, setting.StatusOK, setting.StatusSet,
		setting.StatusWillSet, setting.StatusDiffers, setting.StatusNeedsReboot, setting.StatusCannot}, s)
}

// join concatenates two texts, without repeating a text that occurs twice.
func join(a, b, between string) string {
	if a == "" || b == "" || a == b {
		return a + strings.TrimPrefix(b, a)
	}
	return a + between + b
}

// apply brings one setting into the wanted state, completely or not at all, reads it back, and
// returns the changes that are in effect. If the policy forbids changes, or there is nothing to
// change, it only checks. The error is the reason why a planned change failed; the finding contains
// it too. By then the setting has been restored; if that failed as well, the error includes it and
// the journal keeps the change.
func (c Control) apply(ctx context.Context, m *Machine, j *Journal) (setting.Finding, []Entry, error) {
	plan := c.inspect(ctx, m)
	finding := c.finding(plan)
	if finding.Status != setting.StatusWillSet {
		return finding, nil, nil
	}
	made, rejected, err := carryOut(ctx, m, j, c, plan.Steps)
	if err != nil {
		finding.Status = setting.StatusCannot
		finding.Detail = join(finding.Detail, oneLine(err.Error()), "; ")
		finding.Fix = remedy(err)
		return finding, nil, fmt.Errorf("apply %s: %w", c.Name, err)
	}
	finding.Status, finding.Fix = setting.StatusSet, ""
	finding.Detail = join(finding.Detail, remark(rejected, "rejected"), "; ")
	return finding, made, nil
}

// restorer returns the Undo that restores entries.
func restorer(m *Machine, j *Journal, entries []Entry) Undo {
	return func(ctx context.Context) error {
		if len(entries) == 0 {
			return nil
		}
		report := restoreEntries(ctx, m, entries)
		entries = slices.DeleteFunc(entries, func(e Entry) bool {
			return slices.ContainsFunc(report,
				func(x Reversal) bool { return x.Entry.N == e.N && x.Outcome != Failed })
		})
		return errors.Join(report.Err(), j.undone(report))
	}
}

// carryOut makes the changes of one control after recording all of them. rejected holds the errors
// of optional changes. Their entries are returned as well: another change may have caused what was
// rejected (a governor sets its energy preference), which must then be restored. After an error
// none of the changes is in effect.
func carryOut(
	ctx context.Context, m *Machine, j *Journal, c Control, steps []Step,
) (made []Entry, rejected []error, err error) {
	for _, s := range steps {
		if !c.covers(s) { // it could not be restored
			return nil, nil, fmt.Errorf("the plan of %s contains a change outside its targets: %s",
				c.Name, s)
		}
	}
	entries, err := j.begin(c.Name, steps)
	if err != nil {
		return nil, nil, err
	}
	for i := range entries {
		err := ctx.Err()
		if err == nil {
			entries[i].Got, err = m.do(ctx, entries[i].Step)
		}
		switch {
		case err == nil:
		case steps[i].Optional && ctx.Err() == nil:
			rejected = append(rejected, err)
		default:
			report := restoreEntries(ctx, m, entries)
			return nil, nil, errors.Join(err, report.Err(), j.undone(report))
		}
	}
	if len(rejected) == len(steps) {
		report := restoreEntries(ctx, m, entries)
		return nil, rejected, errors.Join(rejected[0], report.Err(), j.undone(report))
	}
	// The values read back are informative only and may be lost. After a failed write the journal
	// itself rejects further changes.
	_ = j.got(entries)
	return entries, rejected, nil
}

// remark summarizes errors of one kind: the first one in full, and the number of the others.
func remark(errs []error, kind string) string {
	switch len(errs) {
	case 0:
		return ""
	case 1:
		return errs[0].Error()
	}
	return fmt.Sprintf("%v; and %d more %s", errs[0], len(errs)-1, kind)
}

// do makes one change.
func (m *Machine) do(ctx context.Context, s Step) (string, error) {
	a, err := m.applier(s.Kind)
	if err != nil {
		return "", err
	}
	return a.do(ctx, s)
}

// ApplyAll brings the machine into the wanted state. First it restores the changes that an earlier
// krund of this boot may have left in the journal. Then it checks everything: if a required setting
// cannot be met, it changes nothing and the problems give the reasons. Then it applies the controls
// in order and checks all of them once more, since settings affect each other; a setting that has
// moved is set a second time.
//
// There is one finding per name, also if there are problems. The Undo, never nil, restores all that
// was changed. It must be called if there are problems, since a required setting may have failed
// halfway through the list.
func ApplyAll(ctx context.Context, m *Machine, r Request, j *Journal) ([]setting.Finding, Undo,
	[]setting.Problem) {
	nothing := restorer(m, j, nil)
	if _, err := RestoreSettings(ctx, m, j); err != nil {
		return CheckAll(ctx, m, r), nothing, []setting.Problem{{Control: "journal",
			What: oneLine(err.Error()), Fix: "run `krunctl repair --machine`, or reboot"}}
	}
	a := applied{m: m, j: j, controls: Controls(r)}
	for _, c := range a.controls {
		a.parts = append(a.parts, c.Check(ctx, m))
	}
	if findings := a.findings(); len(setting.Problems(findings)) > 0 {
		return findings, nothing, setting.Problems(findings)
	}
	for i := range a.controls {
		if a.apply(ctx, i); a.parts[i].Fails() {
			break
		}
		if a.controls[i].Name == energyPerfBias.Name { // the last one that bears on the frequency
			if a.effects(ctx); len(setting.Problems(a.parts)) > 0 {
				break
			}
		}
	}
	if len(setting.Problems(a.parts)) == 0 {
		m.wait(ctx, settleDelay)
		for i := range a.controls {
			a.reapply(ctx, i)
		}
		for i := range a.controls {
			a.verify(ctx, i)
		}
	}
	findings := a.findings()
	return findings, restorer(m, j, a.made), setting.Problems(findings)
}

// applied is the progress of ApplyAll.
type applied struct {
	m        *Machine
	j        *Journal
	controls []Control
	parts    []setting.Finding // one for each control: from the check until it is applied
	made     []Entry
}

// apply applies control i. The finding keeps the value found by the check, since an earlier control
// may have changed it.
func (a *applied) apply(ctx context.Context, i int) {
	finding, made, _ := a.controls[i].apply(ctx, a.m, a.j) // the finding contains the error
	finding.Found = a.parts[i].Found
	a.parts[i] = finding
	a.made = append(a.made, made...)
}

// reapply applies control i again if it was as wanted and has moved since.
func (a *applied) reapply(ctx context.Context, i int) {
	f := &a.parts[i]
	if f.Status != setting.StatusSet && f.Status != setting.StatusOK || !a.controls[i].moved(ctx, a.m) {
		return
	}
	again, made, err := a.controls[i].apply(ctx, a.m, a.j)
	a.made = append(a.made, made...)
	f.Detail = join(f.Detail, "another setting changed it, so it was set twice", "; ")
	f.Status = again.Status
	if err != nil {
		f.Detail = join(f.Detail, oneLine(err.Error()), "; ")
	}
}

// verify checks control i once more after everything is set.
func (a *applied) verify(ctx context.Context, i int) {
	f := &a.parts[i]
	if (f.Status == setting.StatusSet || f.Status == setting.StatusOK) && a.controls[i].moved(ctx, a.m) {
		f.Status = setting.StatusCannot
		f.Detail = join(f.Detail, "does not stay set: is "+a.controls[i].plan(ctx, a.m).Found, "; ")
	}
}

// moved reports whether a setting that was as wanted no longer is. Optional steps do not count:
// they were rejected when they were tried.
func (c Control) moved(ctx context.Context, m *Machine) bool {
	p := c.plan(ctx, m)
	if p.Status == setting.StatusWillSet {
		return slices.ContainsFunc(p.Steps, func(s Step) bool { return !s.Optional })
	}
	return p.Status != setting.StatusOK && !p.InForce
}

// findings returns one finding for each name.
func (a *applied) findings() []setting.Finding {
	var findings []setting.Finding
	for _, f := range a.parts {
		findings = merge(findings, f)
	}
	return findings
}
