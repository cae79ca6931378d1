package child

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// proc is one process of the machine as /proc/PID/stat shows it.
type proc struct {
	PID, Parent, Session int
	Start                uint64 // clock ticks after boot; unique together with PID
	State                byte   // R, S, D, T, Z, ...
	Name                 string
}

// zombie reports whether the process has ended and only waits to be reaped.
func (p proc) zombie() bool { return p.State == 'Z' || p.State == 'X' }

var errStat = errors.New("not in the form of proc_pid_stat(5)")

// parseStat reads the text of /proc/PID/stat. The name may contain any byte, also brackets and line
// ends, so it ends at the last closing bracket.
func parseStat(text []byte) (proc, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return proc{}, fmt.Errorf("%.80q: %w", text, errStat)
	}
	f := bytes.Fields(text[end+1:])
	// Numbered from 1 in the manual page, where the state is field 3: here it is f[0].
	if len(f) < 20 || len(f[0]) != 1 {
		return proc{}, fmt.Errorf("%.80q: %w", text, errStat)
	}
	p := proc{State: f[0][0], Name: string(text[open+1 : end])}
	var errs [4]error
	p.PID, errs[0] = strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	p.Parent, errs[1] = strconv.Atoi(string(f[1]))
	p.Session, errs[2] = strconv.Atoi(string(f[3]))
	p.Start, errs[3] = strconv.ParseUint(string(f[19]), 10, 64)
	if errors.Join(errs[:]...) != nil || p.PID < 1 {
		return proc{}, fmt.Errorf("%.80q: %w", text, errStat)
	}
	return p, nil
}

// descendants returns the processes that descend from the process root, or from a child of self
// that isBenchmark accepts; never self nor root. Children come after their parents.
func descendants(all []proc, self, root int, isBenchmark func(proc) bool) []proc {
	children := make(map[int][]proc)
	for _, p := range all {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var queue, out []proc
	for _, p := range children[self] {
		if p.PID != root && isBenchmark(p) {
			queue = append(queue, p)
		}
	}
	if root != self {
		queue = append(queue, children[root]...)
	}
	seen := map[int]bool{self: true, root: true}
	for ; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if seen[p.PID] {
			continue
		}
		seen[p.PID] = true
		out = append(out, p)
		queue = append(queue, children[p.PID]...)
	}
	return out
}

// field returns the value of a "Name:     value" line of /proc/PID/status, or of a "name value"
// line of /proc/vmstat and of the event files of control groups.
func field(text []byte, name string) (string, bool) {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) >= 2 && string(bytes.TrimSuffix(f[0], []byte{':'})) == name {
			return string(f[1]), true
		}
	}
	return "", false
}

// number is field for a count; not ok when it is missing or no number.
func number(text []byte, name string) (int64, bool) {
	v, ok := field(text, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}
