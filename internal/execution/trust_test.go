package execution

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable/trust"
	"krund/internal/execution/account"
	"krund/rig/must"
)

// TestDistrusted: what would run as root is judged before each execution; what has its own account
// is not.
func TestDistrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's programs are at stake")
	}
	dir := t.TempDir()
	entry := filepath.Join(dir, "bench.py")
	must.Do(t, os.WriteFile(entry, nil, 0o644))
	must.Do(t, os.Chmod(dir, 0o777))
	e := Executor{Trust: trust.Verdict.OneOwner}
	asRoot := Job{Program: "/bin/sh", Entry: entry, Root: true}
	m, err := e.Execute(t.Context(), asRoot)
	if err != nil || m.Process.NotStarted == nil || !strings.Contains(m.Process.NotStarted.Text,
		"it would run as root") {
		t.Errorf("as root: %+v, %v", m.Process, err)
	}
	sticky := t.TempDir()
	must.Do(t, os.Chmod(sticky, 0o777|os.ModeSticky))
	for name, j := range map[string]Job{
		// their future owner is unknown
		"files to come": {Program: "/bin/sh", Entry: filepath.Join(sticky, "none"), Root: true},
		"its own account": {Program: "/bin/sh", Entry: entry, Root: true,
			Account: account.Account{Name: "krun", UID: 1000}},
		"a user's krund":     {Program: "/bin/sh", Entry: entry},
		"files that are not": {Program: "/bin/sh", Entry: filepath.Join(dir, "none"), Root: true},
	} {
		why := e.distrusted(j)
		must.Equal(t, (why != ""), strings.HasPrefix(name, "files"), name, why)
	}
}
