package results

import (
	"fmt"
	"strconv"
	"strings"
)

// Name identifies a record in its directory: its slot and attempt.
type Name struct {
	Slot    int // from 0
	Attempt int // from 1
}

// suffix is the end of every record's file name.
const suffix = ".json.gz"

// String returns the record's file name, such as "0000017-001.json.gz". Names of equal length sort
// by slot and attempt.
func (n Name) String() string {
	return fmt.Sprintf("%07d-%03d%s", n.Slot, n.Attempt, suffix)
}

// replaced is added to the names of records that a rerun of their slot has replaced (package
// rerun).
const replaced = ".replaced"

// Replaced returns the file name under which the record is kept when its slot runs again.
func (n Name) Replaced() string { return n.String() + replaced }

// ParseReplaced parses a file name of Replaced. ok is false for every other name.
func ParseReplaced(file string) (n Name, ok bool) {
	record, ok := strings.CutSuffix(file, replaced)
	if !ok {
		return Name{}, false
	}
	return ParseName(record)
}

// ParseName parses a file name. ok is false for every name that String does not return.
func ParseName(file string) (n Name, ok bool) {
	stem, ok := strings.CutSuffix(file, suffix)
	if !ok {
		return Name{}, false
	}
	slot, attempt, ok := strings.Cut(stem, "-")
	if !ok {
		return Name{}, false
	}
	n.Slot, ok = number(slot)
	if !ok {
		return Name{}, false
	}
	n.Attempt, ok = number(attempt)
	if !ok || n.Attempt < 1 || n.String() != file {
		return Name{}, false
	}
	return n, true
}

// number parses a number that consists of digits only.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// compare orders names by slot, then attempt.
func compare(a, b Name) int {
	if a.Slot != b.Slot {
		return a.Slot - b.Slot
	}
	return a.Attempt - b.Attempt
}
