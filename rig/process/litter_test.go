package process

import (
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// noLitter: each execution reports a machine without traces of earlier ones.
func noLitter(t *testing.T, e *rig.Experiment) {
	if n := e.Count(schedule.Completed); n != littering.executions || len(e.Records) != n {
		t.Fatalf("%d completed of %d records, want %d", n, len(e.Records), littering.executions)
	}
	for _, r := range e.Records {
		var found struct {
			Home, Files, Objects, Processes []string
			Mode                            string
		}
		said(t, r, &found)
		for kind, list := range map[string][]string{"home": found.Home, "files": found.Files,
			"objects": found.Objects, "processes": found.Processes} {
			must.Be(t, len(list) <= 0, "execution", r.Pexec, kind, "found", list)
		}
		must.Be(t, found.Mode == "0o700" && r.Process.FreshHome && r.Process.UID != 0 &&
			r.Process.UID == e.Records[0].Process.UID, "execution", r.Pexec, "home has mode", found.Mode,
			"fresh", r.Process.FreshHome, "user", r.Process.UID)
		must.Equal(t, r.Process.Strays, 1, "execution", r.Pexec, "strays, want 1")
		if removed := strings.Join(r.Process.Findings, "\n"); r.Pexec > 1 &&
			(!strings.Contains(removed, "left in /dev/shm") || !strings.Contains(removed,
				"removed 3 System V objects")) {
			t.Errorf("execution %d: the findings do not say what was removed: %q", r.Pexec, removed)
		}
	}
}
