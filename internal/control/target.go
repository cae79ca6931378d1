package control

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	"krund/internal/display"
	"krund/internal/machine/host"
)

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
