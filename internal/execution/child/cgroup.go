package child

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"krund/internal/machine/sysroot"
)

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
