package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// userProcesses returns the living processes that have any of their user numbers set to uid.
func userProcesses(uid int) []int {
	var found []int
	for _, p := range scan() {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "status"))
		if err == nil && !p.zombie() && hasUser(text, uid) {
			found = append(found, p.PID)
		}
	}
	return found
}

// hasUser reads the real, effective, saved and file system user number from the text of /proc/PID/status.
func hasUser(status []byte, uid int) bool {
	want := []byte(strconv.Itoa(uid))
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("Uid:")); ok {
			for _, f := range bytes.Fields(rest) {
				if bytes.Equal(f, want) {
					return true
				}
			}
			return false
		}
	}
	return false
}
