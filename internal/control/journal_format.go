package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
)

// The journal is text, so that a person can read it on a broken machine. Each line is
//
//	CRC JSON \n
//
// CRC: eight hexadecimal digits, CRC-32C of the JSON. JSON: one object without newlines, whose "op"
// is the kind of the line.
//
//	{"op":"journal","version":1}
//	{"op":"set","safe":80,"n":3,"time":...,"boot":...,"control":"aslr","step":{...}}
//	{"op":"got","safe":310,"n":3,"got":"2"}
//	{"op":"undone","safe":310,"n":3,"note":"restored"}
//
// "journal" is the first line. "set" is synced before change 3 begins. "got" is the value read back
// after it; it is not synced. "undone" means that change 3 is restored, or void; it is synced.
//
// Changes are numbered from 1 upwards and never share a number. Lines are only appended; opening a
// journal for writing drops restored changes by an atomic rewrite.
//
// safe is the number of bytes of the file that were on disk when the line was written. After a
// power failure any of the bytes beyond may be missing or garbage, also in the middle, since disks
// write sectors in any order. Such a line is torn, not damaged: a change whose line was not yet
// synced had not begun. An invalid line that begins before the highest safe is damaged, and
// reported. Valid lines are used in either case.
const journalVersion = 1

// ErrJournalVersion means that a journal was written by a later version of krund.
var ErrJournalVersion = errors.New("the journal was written by a later version of krund; restore with " +
	"that version")

// An Entry is one change in the journal.
type Entry struct {
	N       int    // 1, 2, ...
	Time    string // wall clock, RFC 3339
	Boot    string // the boot in which it was made
	Control string // the control that asked for it
	Step    Step
	Got     string // the value read back; "" if unknown
	Undone  bool   // restored, or void
}

// journalLine is a line of any kind; Op determines which fields are used.
type journalLine struct {
	Op      string `json:"op"`
	Version int    `json:"version,omitempty"`
	Safe    int64  `json:"safe,omitempty"`
	N       int    `json:"n,omitempty"`
	Time    string `json:"time,omitempty"`
	Boot    string `json:"boot,omitempty"`
	Control string `json:"control,omitempty"`
	Step    *Step  `json:"step,omitempty"`
	Got     string `json:"got,omitempty"`
	Note    string `json:"note,omitempty"`
}

// setLine is the line that announces a change.
func setLine(e Entry) journalLine {
	return journalLine{Op: "set", N: e.N, Time: e.Time, Boot: e.Boot, Control: e.Control, Step: &e.Step}
}

// journalText is the content of a journal.
type journalText struct {
	entries []Entry  // in the order of their numbers
	torn    bool     // lines that were not yet synced were lost in a crash
	damage  []string // lines that were synced and are unreadable
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// decodeLine checks and decodes a line without its newline.
func decodeLine(line []byte) (journalLine, error) {
	var l journalLine
	if len(line) < 10 || line[8] != ' ' {
		return l, errors.New("not a journal line")
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(line[9:], castagnoli) {
		return l, errors.New("wrong checksum")
	}
	if err := json.Unmarshal(line[9:], &l); err != nil {
		return l, err
	}
	return l, nil
}

// maxDamage bounds the number of unreadable lines that are described.
const maxDamage = 100

// parseJournal reads the text of a journal. The only error is ErrJournalVersion; all other faults
// are in the result.
func parseJournal(data []byte) (journalText, error) {
	type badLine struct {
		at   int64
		what string
	}
	var t journalText
	var bad []badLine
	more := 0
	var safe, at int64
	for number := 1; len(data) > 0; number++ {
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		l, err := decodeLine(line)
		if err == nil && !complete {
			err = errors.New("no newline")
		}
		if err == nil {
			safe = max(safe, l.Safe) // also if the line refers to an unreadable change
			err = t.add(l)
		}
		switch {
		case errors.Is(err, ErrJournalVersion):
			return t, err
		case err != nil && len(bad) == maxDamage:
			more++
		case err != nil:
			bad = append(bad, badLine{at, fmt.Sprintf("line %d: %v", number, err)})
		}
		at += int64(len(data) - len(rest))
		data = rest
	}
	for _, b := range bad {
		if b.at < safe {
			t.damage = append(t.damage, b.what)
		}
	}
	t.torn = len(bad) > len(t.damage)
	if more > 0 { // torn or damaged: their offsets are not kept
		t.damage = append(t.damage, fmt.Sprintf("%d more lines", more))
	}
	return t, nil
}

// add adds a decoded line.
func (t *journalText) add(l journalLine) error {
	at, known := slices.BinarySearchFunc(t.entries, l.N, func(e Entry, n int) int { return e.N - n })
	switch l.Op {
	case "journal":
		if l.Version > journalVersion {
			return ErrJournalVersion
		}
	case "set":
		if known || at != len(t.entries) || l.N < 1 || l.Step == nil {
			return fmt.Errorf("change %d is out of order or incomplete", l.N)
		}
		t.entries = append(t.entries, Entry{N: l.N, Time: l.Time, Boot: l.Boot, Control: l.Control,
			Step: *l.Step})
	case "got", "undone":
		if !known {
			return fmt.Errorf("no change %d", l.N)
		}
		if l.Op == "got" {
			t.entries[at].Got = l.Got
		} else {
			t.entries[at].Undone = true
		}
	default:
		return fmt.Errorf("unknown line %q", clip(l.Op))
	}
	return nil
}

// encodeJournal returns the text of a journal that holds the given changes. It is the inverse of
// parseJournal.
func encodeJournal(entries []Entry) ([]byte, error) {
	lines := []journalLine{{Op: "journal", Version: journalVersion}}
	for _, e := range entries {
		lines = append(lines, setLine(e))
		if e.Got != "" {
			lines = append(lines, journalLine{Op: "got", N: e.N, Got: e.Got})
		}
		if e.Undone {
			lines = append(lines, journalLine{Op: "undone", N: e.N})
		}
	}
	return encodeLines(lines)
}

// encodeLines returns lines in the file's format.
func encodeLines(lines []journalLine) ([]byte, error) {
	var text []byte
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "%08x %s\n", crc32.Checksum(data, castagnoli), data)
	}
	return text, nil
}
