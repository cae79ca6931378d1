package account

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	accountName = "krun"
	// accountComment marks the account as krund's own in the comment field of passwd(5).
	accountComment = "krund benchmark account"
	accountHome    = "/home/" + accountName
)

// ErrForeign is in the error when the name, the home or the group of krund's account belongs to
// another user.
var ErrForeign = errors.New("not krund's own")

// planRemove returns the account to remove before there can be a fresh one, and the command for
// that: krund's previous account, or nothing.
func planRemove(users []user) (old *user, command []string, err error) {
	for _, u := range users {
		if u.name == accountName {
			if err := checkOwn(u, users); err != nil {
				return nil, nil, err
			}
			return &u, []string{"userdel", accountName}, nil
		}
	}
	return nil, nil, nil
}

// checkOwn checks that u, with everything that belongs to its user number, may be removed.
func checkOwn(u user, users []user) error {
	switch {
	case u.comment != accountComment:
		return fmt.Errorf("account %s: %w: its comment is %q and not %q; rename or remove it by hand, "+
			"or set account = \"caller\"", u.name, ErrForeign, u.comment, accountComment)
	case u.uid == 0:
		return fmt.Errorf("account %s: %w: its user number is that of root; remove it by hand",
			u.name, ErrForeign)
	case u.home != accountHome:
		return fmt.Errorf("account %s: %w: its home is %s and not %s; remove it by hand",
			u.name, ErrForeign, u.home, accountHome)
	}
	for _, other := range users {
		if other.uid == u.uid && other != u {
			return fmt.Errorf("account %s: %w: account %s has the same user number %d; "+
				"remove one of them by hand",
				u.name, ErrForeign, other.name, u.uid)
		}
	}
	return nil
}

// firstOrdinary is the first group number that is not reserved for the system (login.defs(5),
// useradd(8) of OpenBSD).
const firstOrdinary = 1000

// planAdd returns the useradd command once the old account is removed. uid is the user number to
// keep, or 0. The account has no login, and useradd does not create the home, because it would copy
// /etc/skel into it.
func planAdd(goos string, users []user, groups []groupEntry, uid int) ([]string, error) {
	add := []string{"useradd", "-c", accountComment, "-d", accountHome}
	group, err := planGroup(users, groups)
	if err != nil {
		return nil, err
	}
	switch {
	case goos == "openbsd" && group == "":
		add = append(add, "-s", "/sbin/nologin", "-g", "=uid")
	case goos == "openbsd":
		add = append(add, "-s", "/sbin/nologin", "-g", group)
	default:
		// No ranges for containers in /etc/subuid: userdel would not remove them.
		add = append(add, "-M", "-s", "/usr/sbin/nologin", "-K", "SUB_UID_COUNT=0", "-K", "SUB_GID_COUNT=0")
		if group == "" {
			add = append(add, "-U")
		} else {
			add = append(add, "-g", group)
		}
	}
	if uid > 0 {
		add = append(add, "-u", strconv.Itoa(uid))
	}
	return append(add, accountName), nil
}

// planGroup returns the group to use if it exists: the power may have failed between the removal of
// the account and that of its group. The group must not give access to other users' files. An empty
// name means that useradd makes a new one.
func planGroup(users []user, groups []groupEntry) (string, error) {
	for _, g := range groups {
		if g.name != accountName {
			continue
		}
		if len(g.members) > 0 || g.gid < firstOrdinary {
			return "", fmt.Errorf("group %s: %w: number %d, members %v; rename or remove it by hand",
				g.name, ErrForeign, g.gid, g.members)
		}
		for _, u := range users {
			if u.gid == g.gid {
				return "", fmt.Errorf("group %s: %w: it is the group of account %s; "+
					"rename or remove it by hand",
					g.name, ErrForeign, u.name)
			}
		}
		return g.name, nil
	}
	return "", nil
}

// user is a line of passwd(5).
type user struct {
	name     string
	uid, gid int
	comment  string
	home     string
}

// groupEntry is a line of group(5).
type groupEntry struct {
	name    string
	gid     int
	members []string
}

// parsePasswd reads the text of /etc/passwd. Lines that are no accounts (NIS references, comments,
// damage) are skipped.
func parsePasswd(text []byte) []user {
	var out []user
	for line := range bytes.Lines(text) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(f) != 7 || !accountLine(f[0]) {
			continue
		}
		uid, errU := strconv.Atoi(f[2])
		gid, errG := strconv.Atoi(f[3])
		if errU == nil && errG == nil && uid >= 0 && gid >= 0 {
			out = append(out, user{name: f[0], uid: uid, gid: gid, comment: f[4], home: f[5]})
		}
	}
	return out
}

// parseGroups reads the text of /etc/group in the same way.
func parseGroups(text []byte) []groupEntry {
	var out []groupEntry
	for line := range bytes.Lines(text) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(f) != 4 || !accountLine(f[0]) {
			continue
		}
		gid, err := strconv.Atoi(f[2])
		if err != nil || gid < 0 {
			continue
		}
		g := groupEntry{name: f[0], gid: gid}
		if f[3] != "" {
			g.members = strings.Split(f[3], ",")
		}
		out = append(out, g)
	}
	return out
}

func accountLine(name string) bool { return name != "" && !strings.ContainsAny(name[:1], "+-#") }

// object is a System V object: a shared memory segment, a semaphore set or a message queue. Unlike
// a process it lives until it is removed or the machine restarts.
type object struct {
	id         int
	uid, maker int // owner and creator
}

var errObjects = errors.New("not in the form of /proc/sysvipc")

// parseObjects reads a table of /proc/sysvipc, whose first line names the columns. id is the column
// of the identifiers: "shmid", "semid" or "msqid".
func parseObjects(text []byte, id string) ([]object, error) {
	at := map[string]int{}
	var out []object
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(at) == 0 {
			for i, name := range f {
				at[string(name)] = i
			}
			continue
		}
		var o object
		for name, to := range map[string]*int{id: &o.id, "uid": &o.uid, "cuid": &o.maker} {
			i, ok := at[name]
			if !ok || i >= len(f) {
				return nil, fmt.Errorf("column %s: %w", name, errObjects)
			}
			n, err := strconv.ParseUint(string(f[i]), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("column %s: %.40q: %w", name, f[i], errObjects)
			}
			*to = int(n)
		}
		out = append(out, o)
	}
	return out, nil
}
