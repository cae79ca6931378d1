package child

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"krund/internal/machine/sysroot"
)

// proc is one process of the machine.
type proc = sysroot.ProcessStat

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

var errNoHierarchy = errors.New("no control groups of version 2 are mounted")

// groupMount finds where control groups of version 2 are mounted, from the text of
// /proc/self/mountinfo: the directory, and the group of the hierarchy that it shows ("/" except
// inside containers).
func groupMount(mountinfo []byte) (dir, root string, err error) {
	for _, m := range sysroot.ParseMounts(string(mountinfo)) {
		if m.Kind == "cgroup2" {
			return m.Point, m.Root, nil
		}
	}
	return "", "", errNoHierarchy
}

// groupName returns the full name of the group want: below own, or from the top when want starts
// with a slash. The daemon must not be inside it, because the group is killed as a whole.
func groupName(own, want string) (string, error) {
	for part := range strings.SplitSeq(strings.TrimPrefix(want, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("control group %q: not a name", want)
		}
	}
	name := want
	if !strings.HasPrefix(want, "/") {
		name = path.Join("/", own, want)
	}
	if own == name || strings.HasPrefix(own, name+"/") {
		return "", fmt.Errorf("control group %s: krund itself is in it", name)
	}
	return name, nil
}

// groupDir returns the directory of the group name, in a mount of root at dir.
func groupDir(dir, root, name string) (string, error) {
	if root == "/" {
		return path.Join(dir, name), nil
	}
	rest, ok := strings.CutPrefix(name, root+"/")
	if !ok {
		return "", fmt.Errorf("control group %s: only %s is visible here", name, root)
	}
	return path.Join(dir, rest), nil
}
