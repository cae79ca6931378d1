// Package setting holds what controls (internal/control) and probes (internal/machine/probe) have
// in common: how they declare themselves (Descriptor), what a configuration asks of them (Policy,
// Demand), and what they report (Finding, Problem, Table). A setting is one property of the machine
// that krund sets, or only reads.
//
// The types are here, and not in internal/control, so that there is one Policy and one Descriptor
// for both, while probes, which only read, and the configuration, which only parses, import nothing
// that changes a machine. The package is a leaf and touches no machine. Start reading at
// Descriptor.
package setting

import "fmt"

// A Policy is what krund does about a setting that is not as wanted.
type Policy string

// The policies, strictest first.
const (
	Require Policy = "require" // set it; when it cannot be set, do not measure
	Apply   Policy = "apply"   // set it if possible; record it otherwise
	Warn    Policy = "warn"    // never touch it; report it when it differs
	Off     Policy = "off"     // never touch it, never report it
)

// Changes reports whether a control under this policy may change the machine.
func (p Policy) Changes() bool { return p == Require || p == Apply }

// A Status is the state of a setting.
type Status string

// The statuses. A check returns any except StatusSet; applying turns StatusWillSet into StatusSet
// or StatusCannot.
const (
	StatusOK      Status = "ok"       // as wanted, without a change by krund
	StatusWillSet Status = "will_set" // differs; applying will set it
	StatusSet     Status = "set"      // krund set it and read it back
	StatusDiffers Status = "differs"  // differs, and the policy forbids setting it
	// differs or is unknown, and krund cannot set it on this machine
	StatusCannot      Status = "cannot"
	StatusNeedsReboot Status = "needs_reboot" // differs; only a kernel argument and a reboot change it
	StatusOff         Status = "off"          // policy off
)

// Volatile are the controls whose findings differ from one execution to the next without anybody's
// doing, where krund leaves them alone.
var Volatile = []string{"irq_affinity", "services", "timers", "network", "caches", "rps_cpus", "shield"}

// Fit reports whether a setting in this status is as wanted, or will be after applying.
func (s Status) Fit() bool {
	return s == StatusOK || s == StatusWillSet || s == StatusSet || s == StatusOff
}

// A Finding is what is known about one setting or reading of the machine: a row of the table, and
// part of every record.
type Finding struct {
	Name   string `json:"name"`             // the control's or probe's name in the configuration
	Policy Policy `json:"policy"`           // what the configuration asks for
	Status Status `json:"status"`           // its state
	Found  string `json:"found"`            // the value on the machine, in readable form
	Wanted string `json:"wanted"`           // the requested value
	Detail string `json:"detail,omitempty"` // further remarks: exceptions, errors of the kernel
	Why    string `json:"why,omitempty"`    // why it matters, in one line
	Fix    string `json:"fix,omitempty"`    // what to do when it is not as wanted
}

// Fails reports whether the finding forbids measuring: it is required and not as wanted.
func (f Finding) Fails() bool { return f.Policy == Require && !f.Status.Fit() }

// A Problem is a reason why this machine is not fit to measure, with what the user can do about it.
type Problem struct {
	Control string `json:"control"`
	What    string `json:"what"`
	Fix     string `json:"fix"`
}

func (p Problem) String() string {
	if p.Fix == "" {
		return fmt.Sprintf("%s: %s", p.Control, p.What)
	}
	return fmt.Sprintf("%s: %s; %s", p.Control, p.What, p.Fix)
}

// problem returns the Problem of a finding that Fails.
func (f Finding) problem() Problem {
	what := fmt.Sprintf("is %s, wanted %s", f.Found, f.Wanted)
	if f.Detail != "" {
		what += " (" + f.Detail + ")"
	}
	fix := fmt.Sprintf(`set %s = "warn" in [controls] to measure anyway`, f.Name)
	if f.Fix != "" {
		fix = f.Fix + "; or " + fix
	}
	return Problem{Control: f.Name, What: what, Fix: fix}
}

// Problems returns one Problem for each finding that forbids measuring.
func Problems(findings []Finding) []Problem {
	var problems []Problem
	for _, f := range findings {
		if f.Fails() {
			problems = append(problems, f.problem())
		}
	}
	return problems
}
