package jobs

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestWarnings: of the queue's log, only warnings and errors are in the hub's.
func TestWarnings(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(warnings{slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})})
	log = log.With("a", 1).WithGroup("g")
	log.Info("job counts")
	log.Warn("a job failed", "n", 2)
	got := b.String()
	must.Be(t, strings.Count(got, "\n") == 1 && strings.Contains(got, `msg="a job failed" a=1 g.n=2`), got)
}
