package account

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// userProcesses returns the living processes that have any of their user numbers set to uid.
func userProcesses(uid int) []int {
	entries, _ := os.ReadDir("/proc") // what can be read is better than nothing
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err == nil && hasUser(text, uid) && !hasEnded(text) {
			found = append(found, pid)
		}
	}
	return found
}

// hasUser looks for uid in the real, effective, saved and file system user number of a process.
// status is the text of proc_pid_status(5).
func hasUser(status []byte, uid int) bool {
	return slices.Contains(statusFields(status, "Uid:"), strconv.Itoa(uid))
}

// hasEnded reports whether the process has ended and only waits to be reaped.
func hasEnded(status []byte) bool {
	state := statusFields(status, "State:")
	return len(state) > 0 && (state[0] == "Z" || state[0] == "X")
}

// statusFields returns the fields of a line.
func statusFields(status []byte, name string) []string {
	var fields []string
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			for f := range bytes.FieldsSeq(rest) {
				fields = append(fields, string(f))
			}
			break
		}
	}
	return fields
}
