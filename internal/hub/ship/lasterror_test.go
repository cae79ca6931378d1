package ship

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// TestLastError: the reason is read as krund's log has it.
func TestLastError(t *testing.T) {
	d := must.Get(directory.Create(durable.OS(), filepath.Join(t.TempDir(), "x.krun")))(t)
	must.Equal(t, LastError(d), "", "without a log")
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	for _, want := range []string{"first", "two words", "a\nb \"c\" \\ error=x", "", "plain"} {
		log.Error("krund ended", "status", 1, "error", want)
		log.Warn("something else", "error", "later")
		must.Do(t, os.WriteFile(d.Log(), text.Bytes(), 0o600))
		must.Equal(t, LastError(d), want)
	}
}
