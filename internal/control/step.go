package control

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// A Kind is what a Step changes; it determines the applier that makes and restores the change.
type Kind string

// The kinds of steps. They are written to journals, so they must never be renamed.
const (
	KindFile    Kind = "file"    // a file of /proc or /sys; Old and New are its values
	KindMSR     Kind = "msr"     // bits of a model-specific register; Target "/dev/cpu/0/msr@0x1a0"
	KindHold    Kind = "hold"    // a device whose request is in effect as long as it is held open
	KindSwap    Kind = "swap"    // an area of /proc/swaps; Old is its priority
	KindUnit    Kind = "unit"    // a service, timer or socket; Old "active", New "inactive"
	KindLink    Kind = "link"    // a network interface; Old "up", New "down"; Data its addresses and routes
	KindGroup   Kind = "cgroup"  // a control group; Old "absent", New "present"
	KindGrant   Kind = "grant"   // a controller enabled for the children of a control group; New "+cpuset"
	KindThreads Kind = "threads" // changes nothing; Data lists the threads to bind to their CPUs again
	KindSlice   Kind = "slice"   // the CPUs systemd allows to a slice or scope, until reboot
	KindSysctl  Kind = "sysctl"  // a variable of sysctl(8) on OpenBSD
	// the account for benchmarks; Old "absent", New "present"; the only kind that survives a reboot
	KindAccount Kind = "account"
	KindOnce    Kind = "once"    // a file that makes the kernel do something once; Old is empty
	KindPerform Kind = "perform" // OpenBSD's performance policy; Old and New as perfState prints them
)

// A Form is how the text of a file represents its value.
type Form string

// The forms of a KindFile step.
const (
	FormText Form = "" // the value and nothing else
	// a frequency limit: the kernel accepts it at once and shows it a moment later
	FormLimit     Form = "limit"
	FormChoice    Form = "choice"    // all choices, the one in force in brackets: "always [madvise] never"
	FormCPUList   Form = "cpulist"   // a set of CPUs as a list: "0-3"
	FormCPUMask   Form = "cpumask"   // a set of CPUs as a mask: "f"
	FormWays      Form = "ways"      // the masks of the last-level caches among other lines
	FormPartition Form = "partition" // a partition type; an invalid one adds "invalid (reason)"
)

// show returns the value that a text in this form represents. A text that does not parse represents
// itself.
func (f Form) show(text string) string {
	text = strings.TrimSpace(text)
	switch f {
	case FormChoice:
		if choice, ok := chosen(text); ok {
			return choice
		}
	case FormCPUList:
		if set, err := host.ParseCPUList(text); err == nil {
			return set.String()
		}
	case FormWays:
		return showWays(text)
	case FormCPUMask:
		if set, err := host.ParseCPUMask(text); err == nil {
			return set.Mask()
		}
	}
	return text
}

// chosen returns the word in brackets of a list of choices.
func chosen(text string) (string, bool) {
	_, rest, ok := strings.Cut(text, "[")
	if !ok {
		return "", false
	}
	word, _, ok := strings.Cut(rest, "]")
	return word, ok && word != "" && word == strings.TrimSpace(word) && !strings.Contains(word, "[")
}

// A Step is one change to the machine, together with what is needed to restore it. It is plain data
// that the journal stores.
type Step struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"` // what is changed: a kernel path, a unit, an interface, a device
	Old    string `json:"old"`    // value before the change; restore writes it
	New    string `json:"new"`    // value after the change
	Form   Form   `json:"form,omitempty"`
	Data   string `json:"data,omitempty"` // what else is needed to restore it

	// Optional marks a step whose failure only causes a remark, such as a disk's interrupt that
	// cannot be moved.
	Optional bool `json:"-"`
}

func (s Step) String() string { return fmt.Sprintf("%s: %s -> %s", s.Target, s.Old, s.New) }

// A Plan is what a control found and what it would do. Making a plan only reads.
type Plan struct {
	Status        setting.Status // ok, will set, cannot or needs reboot, as if the policy were Apply
	Found, Wanted string
	Detail, Fix   string
	Steps         []Step // in the order of work; empty unless the status is will set
	InForce       bool   // what is wanted is set already: the status is about something beside it
}

// A Control is one setting of the machine with what is asked of it.
type Control struct {
	Descriptor
	Policy  setting.Policy // what is asked; the descriptor's is the default
	demand  setting.Demand
	request Request
}

func (c Control) plan(ctx context.Context, m *Machine) Plan {
	return c.Descriptor.plan(ctx, m, c.demand, c.request)
}

// Check reports the state of the setting. It only reads.
func (c Control) Check(ctx context.Context, m *Machine) setting.Finding {
	return c.finding(c.inspect(ctx, m))
}

// inspect is plan, but detects kernel files that are mounted read-only, as in containers. The only
// way to find out whether the kernel accepts a value is to write it.
func (c Control) inspect(ctx context.Context, m *Machine) Plan {
	p := c.plan(ctx, m)
	var fixed []string // files that cannot be written
	needed := false    // a required step writes one of them
	for _, s := range p.Steps {
		file := s.Target
		if s.Kind == KindGrant {
			file = grantApplier{m.Root}.file(s)
		}
		if (s.Kind == KindFile || s.Kind == KindOnce || s.Kind == KindGrant) && m.Root.ReadOnly(file) {
			fixed, needed = append(fixed, file), needed || !s.Optional
		}
	}
	if needed || len(fixed) > 0 && len(fixed) == len(p.Steps) {
		return cannot(p.Found, p.Wanted, join(p.Detail,
			fixed[0]+" is on a file system that is mounted read-only", "; "), remedy(syscall.EROFS))
	}
	return p
}

// finding returns the table row for a plan.
func (c Control) finding(p Plan) setting.Finding {
	f := setting.Finding{
		Name: c.Name, Policy: c.Policy, Status: p.Status,
		Found: p.Found, Wanted: p.Wanted, Detail: oneLine(p.Detail), Why: c.Why, Fix: p.Fix,
	}
	switch {
	case c.Policy == setting.Off:
		f.Status, f.Fix = setting.StatusOff, ""
	case c.Policy == setting.Warn && p.Status == setting.StatusWillSet:
		f.Status = setting.StatusDiffers
		f.Fix = fmt.Sprintf(`set %s = "apply" in [controls] to let krund set it`, c.Name)
	}
	return f
}

// oneLine converts a text of several lines, such as joined errors, to one line.
func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }

// ok, willSet and cannot return the three plans that nearly every planner ends with. Without steps
// willSet is ok.
func ok(found, wanted string, remarks ...string) Plan {
	return Plan{Status: setting.StatusOK, Found: found, Wanted: wanted, Detail: strings.Join(remarks, "; ")}
}

func willSet(found, wanted string, steps ...Step) Plan {
	if len(steps) == 0 {
		return ok(found, wanted)
	}
	return Plan{Status: setting.StatusWillSet, Found: found, Wanted: wanted, Steps: steps}
}

// tooFew is the plan of what needs a CPU beside the benchmark's.
func tooFew(m *Machine, found, wanted string, online host.CPUs) Plan {
	fix := "measure on a machine, or in a container, with two CPUs or more"
	if all, err := m.Online(); err == nil && len(m.PrimaryThreads(all)) < len(all) {
		fix = `measure with two cores or more; smt = "off" in [controls] leaves sibling threads on`
	}
	return cannot(found, wanted, fmt.Sprintf("krund may use only CPU %s, and one is for the system", online),
		fix)
}

func cannot(found, wanted, detail, fix string) Plan {
	return Plan{Status: setting.StatusCannot, Found: found, Wanted: wanted, Detail: detail, Fix: fix}
}

// A target names things that a control changes, and the values that it may restore. The engine
// carries out and restores only steps that a target of their control covers: a journal cannot make
// krund write anything else.
type target struct {
	kind   Kind
	name   func(string) bool // reports whether Step.Target is one of the things
	values func(Step) bool   // reports whether Old, New and Data are values that they can have
}

func (t target) covers(s Step) bool { return t.kind == s.Kind && t.name(s.Target) && t.values(s) }

// covers reports whether a target of the control covers the step.
func (c Control) covers(s Step) bool {
	return slices.ContainsFunc(c.targets, func(t target) bool { return t.covers(s) })
}

// checkOwned returns an error unless the control of that name makes changes like s on this system.
func checkOwned(control string, s Step) error {
	if control == accountControl && accountTarget.covers(s) {
		return nil
	}
	for _, c := range Controls(Defaults()) {
		if c.Name == control && c.covers(s) {
			return nil
		}
	}
	return fmt.Errorf("the control %q does not make this change (kind %q, from %q), so krund did not "+
		"record it; nothing was written: find out who can write to the journal, reboot, and then remove "+
		"the journal",
		clip(control), clip(string(s.Kind)), clip(s.Old))
}

// files are targets of kernel files with values of one sort. Their names are patterns as in
// path.Match: * stays within one part of a path.
func files(old func(string) bool, patterns ...string) []target {
	list := make([]target, len(patterns))
	for i, pattern := range patterns {
		list[i] = target{kind: KindFile, name: like(pattern), values: from(old)}
	}
	return list
}

// like reports whether a path matches a pattern and contains no "..".
func like(pattern string) func(string) bool {
	return func(name string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched && path.Clean(name) == name
	}
}

// clip shortens a text for a message.
func clip(text string) string { return display.Head(text, 80) }

// is returns a function that reports whether a text equals value.
func is(value string) func(string) bool { return func(text string) bool { return text == value } }

// from covers steps whose old value is valid and that have no Data.
func from(old func(string) bool) func(Step) bool {
	return func(s Step) bool { return old(s.Old) && s.Data == "" }
}

var (
	numberForm = regexp.MustCompile(`^-?[0-9]{1,20}$`)
	wordsForm  = regexp.MustCompile(`^[A-Za-z0-9 \t\n_+:.,()\[\]-]+$`)
)

// The kinds of values. isWords is for files that show names, choices or several numbers.
func isNumber(text string) bool { return numberForm.MatchString(text) }
func isWords(text string) bool  { return len(text) <= 4096 && wordsForm.MatchString(text) }

func isCPUList(text string) bool {
	_, err := host.ParseCPUList(text)
	return err == nil || text == ""
}

func isCPUMask(text string) bool {
	_, err := host.ParseCPUMask(text)
	return err == nil
}
