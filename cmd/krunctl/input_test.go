package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

func fifo(t *testing.T, name string) string {
	t.Helper()
	must.Do(t, unix.Mkfifo(name, 0o600))
	return name
}

// TestFIFOInTheDirectory: no command blocks on a FIFO in the place of one of an experiment's files.
func TestFIFOInTheDirectory(t *testing.T) {
	must.Long(t)
	all := []string{"status DIR", "show DIR", "convert --to csv DIR", "show --startup DIR",
		"show --counters DIR", "check DIR", "analyze DIR", "analyze --table DIR",
		"convert --to csv --key nbody:C:* DIR", "compare DIR DIR", "show --key nbody:C:* DIR",
		"enough stability DIR", "analyze --similarity DIR", "enough optimize DIR", "explain DIR",
		"check --plan TOML", "repair --dry-run DIR", "repair DIR", "hold DIR", "resume DIR"}
	for n, file := range []string{"schedule", "config.toml", "analysis.json", "fingerprint.json",
		"journal", "lock", "hold", "results/0000000-001.json.gz"} {
		t.Run(file, func(t *testing.T) {
			b := complete(t)
			_ = os.Remove(b.path(file))
			fifo(t, b.path(file))
			for i, args := range all {
				if (i+n)%must.Often(3, 1) != 0 {
					continue
				}
				words := strings.NewReplacer("DIR", b.dir(), "TOML", b.toml).Replace(args)
				r := krunctl(t, strings.Fields(words)...)
				must.Be(t, r.code <= 3 && (r.code == exitOK || r.stdout+r.stderr != ""), args, r.text())
			}
		})
	}
}
