package account

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestRemoveWithGroup: afterwards the machine is as it was before the account, also where userdel
// leaves the group, and doing it again does nothing.
func TestRemoveWithGroup(t *testing.T) {
	for name, defs := range map[string]string{"group with the account": "yes", "group by itself": "no"} {
		t.Run(name, func(t *testing.T) {
			m := testMachine(t, "anna:x:1000:1000::/home/anna:/bin/sh\n")
			text := strings.ReplaceAll(m.text(t, "/etc/login.defs"), "USERGROUPS_ENAB yes",
				"USERGROUPS_ENAB "+defs)
			must.Do(t, os.WriteFile(m.path("/etc/login.defs"), []byte(text), 0o644))
			passwd, group := m.text(t, "/etc/passwd"), m.text(t, "/etc/group")
			a, _ := mustFresh(t, m)
			m.leave(t, a, "/tmp/left")
			if account, group, err := m.exists(); err != nil || !account || !group {
				t.Errorf("account %t, group %t, %v", account, group, err)
			}
			removed, err := m.removeWithGroup(t.Context(), false)
			must.Need(t, err == nil && removed, "removed", removed, err)
			must.Equal(t, m.text(t, "/etc/passwd"), passwd, "passwd")
			must.Equal(t, m.text(t, "/etc/group"), group, "group")
			for _, gone := range []string{accountHome, "/tmp/left"} {
				_, err := os.Stat(m.path(gone))
				must.Fail(t, err, fs.ErrNotExist, gone, "is still there")
			}
			removed, err = m.removeWithGroup(t.Context(), false)
			must.Be(t, err == nil && !removed, "again: removed", removed, err)
		})
	}
}

func TestRemoveWithGroupIsForItsOwn(t *testing.T) {
	const person = "krun:x:1000:1000:Karl Run:/home/krun:/bin/sh\n"
	m := testMachine(t, person)
	removed, err := m.removeWithGroup(t.Context(), false)
	must.Be(t, !removed && err == nil && strings.Contains(m.text(t, "/etc/passwd"), person), "removed",
		removed, err)
}
