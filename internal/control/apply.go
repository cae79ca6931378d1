package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"krund/internal/config/setting"
)

// Undo takes changes back, the last one first, and goes on past those that cannot be taken back;
// its error names them. Calling it again tries those again and does nothing else. It does not stop
// when its context ends.
type Undo func(context.Context) error

// CheckAll reports how every setting stands, one finding for each name, in the order of the list.
// It reads and never changes.
func CheckAll(ctx context.Context, m *Machine, r Request) []setting.Finding {
	var findings []setting.Finding
	for _, c := range Controls(r) {
		findings = merge(findings, c.Check(ctx, m))
	}
	return findings
}

// merge adds a finding to a list, into the one of the same name if there is one: a control that
// works in two parts is one row.
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

// rank orders statuses by how much they say.
func rank(s setting.Status) int {
	return slices.Index([]setting.Status{setting.StatusOff, setting.StatusOK, setting.StatusSet,
		setting.StatusWillSet, setting.StatusDiffers, setting.StatusNeedsReboot, setting.StatusCannot}, s)
}

// join puts two texts together, each once.
func join(a, b, between string) string {
	if a == "" || b == "" || a == b {
		return a + strings.TrimPrefix(b, a)
	}
	return a + between + b
}

// Apply brings one setting into the wanted state, whole or not at all, and reads it back. Under a
// policy that forbids to change it, or when there is nothing to change, it only checks; the Undo
// then does nothing. The error says why a change that was planned could not be made; the finding
// says so too, and all of it has been taken back (if even that failed, the error says it and the
// journal keeps it).
func (c Control) Apply(ctx context.Context, m *Machine, j *Journal) (setting.Finding, Undo, error) {
	finding, made, err := c.apply(ctx, m, j)
	return finding, undoOf(m, j, made), err
}

// apply is Apply that returns the changes that stand.
func (c Control) apply(ctx context.Context, m *Machine, j *Journal) (setting.Finding, []Entry, error) {
	plan := c.look(ctx, m)
	finding := c.finding(plan)
	if finding.Status != setting.StatusWillSet {
		return finding, nil, nil
	}
	made, refused, err := carryOut(ctx, m, j, c, plan.Steps)
	if err != nil {
		finding.Status = setting.StatusCannot
		finding.Detail = join(finding.Detail, oneLine(err.Error()), "; ")
		finding.Fix = remedy(err)
		return finding, nil, fmt.Errorf("apply %s: %w", c.Name, err)
	}
	finding.Status, finding.Fix = setting.StatusSet, ""
	finding.Detail = join(finding.Detail, remark(refused, "refused"), "; ")
	return finding, made, nil
}

// undoOf returns what takes entries back.
func undoOf(m *Machine, j *Journal, entries []Entry) Undo {
	return func(ctx context.Context) error {
		if len(entries) == 0 {
			return nil
		}
		report := takeBack(ctx, m, entries)
		entries = slices.DeleteFunc(entries, func(e Entry) bool {
			return slices.ContainsFunc(report,
				func(x Reversal) bool { return x.Entry.N == e.N && x.Outcome != Failed })
		})
		return errors.Join(report.Err(), j.undone(report))
	}
}

// carryOut makes the changes of one control after writing all of them down. refused are the errors
// of optional ones; they are among the entries all the same, because another change may bring about
// what was refused (a governor its energy preference), and then is to be taken back. After an error
// none of the changes stands.
func carryOut(
	ctx context.Context, m *Machine, j *Journal, c Control, steps []Step,
) (made []Entry, refused []error, err error) {
	for _, s := range steps {
		if !c.makes(s) { // then it could not be taken back
			return nil, nil, fmt.Errorf("the plan of %s contains a change that is none of its targets: %s",
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
			refused = append(refused, err)
		default:
			report := takeBack(ctx, m, entries)
			return nil, nil, errors.Join(err, report.Err(), j.undone(report))
		}
	}
	if len(refused) == len(steps) {
		report := takeBack(ctx, m, entries)
		return nil, refused, errors.Join(refused[0], report.Err(), j.undone(report))
	}
	// What read back is a help for people; it may be lost. After a failed write the journal itself
	// refuses further changes.
	_ = j.got(entries)
	return entries, refused, nil
}

// remark sums up errors of one kind: the first one in full, and how many more there are.
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

// ApplyAll brings the machine into the wanted state. First it restores what an earlier krund of
// this boot may have left in the journal. Then it checks everything: when a required setting cannot
// be had, nothing is changed and the problems say why. Then it applies the controls in order, and
// looks at all of them once more, since settings move each other; what moved is set a second time.
//
// The findings are one for each name, also when there are problems. The Undo, never nil, takes back
// all that was changed, and must be called when there are problems: a required setting may have
// failed half way through the list.
func ApplyAll(ctx context.Context, m *Machine, r Request, j *Journal) ([]setting.Finding, Undo,
	[]setting.Problem) {
	nothing := undoOf(m, j, nil)
	if _, err := RestoreSettings(ctx, m, j); err != nil {
		return CheckAll(ctx, m, r), nothing, []setting.Problem{{Control: "journal",
			What: oneLine(err.Error()), Fix: "run `krunctl restore`, or reboot"}}
	}
	a := applied{m: m, j: j, controls: Controls(r)}
	for _, c := range a.controls {
		a.parts = append(a.parts, c.Check(ctx, m))
	}
	if findings := a.findings(); len(setting.Problems(findings)) > 0 {
		return findings, nothing, setting.Problems(findings)
	}
	for i := range a.controls {
		if a.first(ctx, i); a.parts[i].Fails() {
			break
		}
	}
	if len(setting.Problems(a.parts)) == 0 {
		m.wait(ctx, consequences)
		for i := range a.controls {
			a.second(ctx, i)
		}
		for i := range a.controls {
			a.verify(ctx, i)
		}
	}
	findings := a.findings()
	return findings, undoOf(m, j, a.made), setting.Problems(findings)
}

// applied is what ApplyAll has done so far.
type applied struct {
	m        *Machine
	j        *Journal
	controls []Control
	parts    []setting.Finding // one for each control, as the check found it until its turn comes
	made     []Entry
}

// first applies control i. What was found is what the check found: an earlier control may have
// changed it by now.
func (a *applied) first(ctx context.Context, i int) {
	finding, made, _ := a.controls[i].apply(ctx, a.m, a.j) // the finding says what the error says
	finding.Found = a.parts[i].Found
	a.parts[i] = finding
	a.made = append(a.made, made...)
}

// second applies control i again when it was as wanted and has moved since.
func (a *applied) second(ctx context.Context, i int) {
	f := &a.parts[i]
	if f.Status != setting.StatusSet && f.Status != setting.StatusOK || !a.controls[i].moved(ctx, a.m) {
		return
	}
	again, made, err := a.controls[i].apply(ctx, a.m, a.j)
	a.made = append(a.made, made...)
	f.Detail = join(f.Detail, "another setting had moved it, so it was set twice", "; ")
	f.Status = again.Status
	if err != nil {
		f.Detail = join(f.Detail, oneLine(err.Error()), "; ")
	}
}

// verify looks at control i once more after everything is set.
func (a *applied) verify(ctx context.Context, i int) {
	f := &a.parts[i]
	if (f.Status == setting.StatusSet || f.Status == setting.StatusOK) && a.controls[i].moved(ctx, a.m) {
		f.Status = setting.StatusCannot
		f.Detail = join(f.Detail, "does not stay set: is "+a.controls[i].plan(ctx, a.m).Found, "; ")
	}
}

// moved reports whether a setting that was as wanted is so no more. Optional steps do not count:
// they were refused when they were tried.
func (c Control) moved(ctx context.Context, m *Machine) bool {
	p := c.plan(ctx, m)
	if p.Status == setting.StatusWillSet {
		return slices.ContainsFunc(p.Steps, func(s Step) bool { return !s.Optional })
	}
	return p.Status != setting.StatusOK
}

// findings returns one finding for each name.
func (a *applied) findings() []setting.Finding {
	var findings []setting.Finding
	for _, f := range a.parts {
		findings = merge(findings, f)
	}
	return findings
}
