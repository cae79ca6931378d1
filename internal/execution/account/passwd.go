package account

import (
	"bytes"
	"strconv"
	"strings"
)

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
