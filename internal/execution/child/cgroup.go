package child

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

var errNoHierarchy = errors.New("no control groups of version 2 are mounted")

// groupMount finds where control groups of version 2 are mounted, from the text of
// /proc/self/mountinfo: the directory, and the group of the hierarchy that it shows ("/" except
// inside containers).
func groupMount(mountinfo []byte) (dir, root string, err error) {
	for line := range bytes.Lines(mountinfo) {
		before, after, ok := bytes.Cut(line, []byte(" - "))
		f := bytes.Fields(before)
		if !ok || len(f) < 5 || !bytes.HasPrefix(after, []byte("cgroup2 ")) {
			continue
		}
		return unescape(string(f[4])), unescape(string(f[3])), nil
	}
	return "", "", errNoHierarchy
}

// unescape undoes mountinfo's octal escapes of space, tab, newline and backslash
// (proc_pid_mountinfo(5)).
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ownGroup returns the group of the process whose /proc/PID/cgroup text this is.
func ownGroup(text []byte) (string, error) {
	for line := range bytes.Lines(text) {
		if name, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte{'\n'}), []byte("0::")); ok {
			return string(name), nil
		}
	}
	return "", errNoHierarchy
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
