package account

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

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
