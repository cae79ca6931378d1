package main

import (
	"os"
	"path/filepath"
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

// TestFIFOAsInput: no command waits for a FIFO that is named as a file, or that lies in an
// experiment's directory.
func TestFIFOAsInput(t *testing.T) {
	b := complete(t)
	dir := t.TempDir()
	results := [][]string{
		{"analyze"}, {"analyze", "--table"}, {"report", "-o", filepath.Join(dir, "report")},
		{"report", "-o", filepath.Join(dir, "x.svg")}, {"compare", b.dir()}, {"enough", "stability"},
		{"analyze", "--similarity"}, {"enough", "optimize"}, {"explain"}, {"convert", "--to", "csv"},
		{"convert", "--to", "krun", "-o", filepath.Join(dir, "x.bz2")}, {"convert", "--to", "go"}, {"show"},
	}
	directories := [][]string{{"status"}, {"show", "--startup"},
		{"show", "--counters"},
		{"check"}, {"repair"}, {"repair", "--machine"}, {"hold"}, {"stop"}}
	configs := [][]string{{"check", "--plan"}, {"enable"}}
	for _, c := range []struct {
		name     string
		commands [][]string
		say      string
	}{
		{"x.json.gz", results, "it is a FIFO"}, {"x.csv", results[:11], "it is a FIFO"},
		{"x.krun", directories, "not a directory"}, {"x.toml", configs, ""},
	} {
		name := fifo(t, filepath.Join(dir, c.name))
		for _, args := range c.commands {
			r := krunctl(t, append(args, name)...)
			must.Be(t, r.code != exitOK && strings.Contains(r.stderr, name) &&
				strings.Contains(r.stderr, c.say), args, c.name, "want", c.say, r.text())
		}
	}
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
