package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"krund/internal/display"
)

// cut bounds what a machine says for people. It does not refuse that: a machine with many problems
// must be able to ship.
func (s *Ship) cut() {
	text(&s.Status.Krund, &s.Status.Host, &s.Status.Clock)
	few(&s.Status.Warnings, MaxWarnings)
	if s.Experiment == nil {
		return
	}
	p := &s.Experiment.Progress
	text(&p.Reason, &p.Running)
	few(&p.Unfit, MaxUnfit)
	p.Flags = p.Flags[:min(len(p.Flags), MaxFlags)]
	p.Failures = slices.Clone(p.Failures[:min(len(p.Failures), MaxFailures)])
	for i := range p.Failures {
		text(&p.Failures[i].Key, &p.Failures[i].Outcome, &p.Failures[i].Reason)
	}
}

// text cuts texts.
func text(all ...*string) {
	for _, s := range all {
		*s = display.Clip(*s, MaxText)
	}
}

// few cuts a list and its texts. The last one of a list that was cut counts the others.
func few(list *[]string, most int) {
	n := len(*list)
	kept := slices.Clone((*list)[:min(n, most)])
	for i := range kept {
		text(&kept[i])
	}
	if n > most {
		kept[most-1] = fmt.Sprintf("and %d more", n-most+1)
	}
	*list = kept
}

// Check returns what is wrong with a message; it looks at its form only.
func (s Ship) Check() error {
	if len(s.Entries) > MaxEntries {
		return fmt.Errorf("%d entries; send at most %d in one request", len(s.Entries), MaxEntries)
	}
	size := 0
	for name, value := range s.Status.Facts {
		if size += len(name) + len(value); size > MaxFacts {
			return fmt.Errorf("the machine's facts have more than %d bytes", MaxFacts)
		}
	}
	if !IsText(s.Status.BootID) || len(s.Status.BootID) > MaxName {
		return fmt.Errorf("boot_id %.40q is too long, or no text", s.Status.BootID)
	}
	if s.Experiment == nil {
		if len(s.Entries) > 0 {
			return errors.New("there are entries but no experiment that they belong to")
		}
		return nil
	}
	if err := s.Experiment.check(); err != nil {
		return err
	}
	var total int64
	names := map[string]bool{}
	for i, e := range s.Entries {
		if e.Name != "" && names[e.Name] {
			return fmt.Errorf("entry %d: %.40q is sent twice", i, e.Name)
		}
		names[e.Name] = true
		if err := e.check(); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if total += e.Size; total > MaxShip-MaxJSON {
			return fmt.Errorf("more than %d bytes; send less in one request", MaxShip)
		}
	}
	return nil
}

func (x ShippedExperiment) check() error {
	if !ValidName(x.Name) {
		return fmt.Errorf("the experiment's name %.40q is empty, too long, or not printable", x.Name)
	}
	if !validHash(x.ConfigHash) {
		return fmt.Errorf("config_hash %.80q is no SHA-256", x.ConfigHash)
	}
	if len(x.ID) > MaxName || len(x.Created) > MaxName || !IsText(x.ID) {
		return errors.New("the experiment's id or date is too long, or no text")
	}
	return nil
}

func (e Entry) check() error {
	const mostSlots, mostAttempts = 1e10, 999 // as in the schedule
	switch {
	case !validHash(e.Hash):
		return fmt.Errorf("%.80q is no SHA-256", e.Hash)
	case e.Size < 0 || e.Size > MaxBlob:
		return fmt.Errorf("%d bytes; at most %d are accepted", e.Size, MaxBlob)
	case e.Name != "" && e.Size > MaxFile:
		return fmt.Errorf("%d bytes of %.40q; at most %d are accepted", e.Size, e.Name, MaxFile)
	case e.Name != "" && !slices.Contains(FileNames(), e.Name):
		return fmt.Errorf("%.40q is none of the files that are shipped", e.Name)
	case e.Name == "" && (e.Slot < 0 || e.Slot >= mostSlots || e.Attempt < 1 || e.Attempt > mostAttempts):
		return fmt.Errorf("there is no slot %d, attempt %d", e.Slot, e.Attempt)
	}
	return nil
}

// IsText reports whether every database stores s: UTF-8 without zero bytes.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func validHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// ValidMachine reports whether s can name a machine or a pool: 1 to 64 letters, digits, dots,
// underscores and hyphens, beginning with a letter or a digit. Names become arguments of the
// commands that control power, and directories.
func ValidMachine(s string) bool {
	const most = 64
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return ValidName(s) && len(s) <= most && s[0] != '_' &&
		!strings.ContainsFunc(s, func(c rune) bool { return !strings.ContainsRune(letters+"._-", c) })
}

// ValidName reports whether s can name a user or an experiment: 1 to MaxName
// bytes of printable ASCII without slashes, not beginning with a dot, a hyphen or a space.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName || strings.ContainsAny(s[:1], ".- ") {
		return false
	}
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '/' || c == '\\' {
			return false
		}
	}
	return true
}
