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
		{"analyze"}, {"table"}, {"report", "-o", filepath.Join(dir, "report")},
		{"plot", "-o", filepath.Join(dir, "x.svg")}, {"compare", b.dir()}, {"stability"},
		{"similarity"}, {"optimize"}, {"explain"}, {"convert", "--to", "csv"},
		{"import", "--jmh", "-o", filepath.Join(dir, "x.bz2")}, {"convert", "--jmh", "--to", "go"}, {"show"},
	}
	directories := [][]string{{"status"}, {"summary"}, {"export", "--csv"}, {"startup"}, {"amperf"},
		{"check-data"}, {"repair"}, {"restore"}, {"hold"}, {"stop"}}
	configs := [][]string{{"plan"}, {"doctor"}, {"enable"}}
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
			if r.code == exitOK || !strings.Contains(r.stderr, name) || !strings.Contains(r.stderr, c.say) {
				t.Errorf("%v %s: want %q:\n%s", args, c.name, c.say, r.text())
			}
		}
	}
}

// TestFIFOInTheDirectory: no command blocks on a FIFO in the place of one of an experiment's files.
func TestFIFOInTheDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("repeats one thing very often")
	}
	all := [][]string{
		{"status"}, {"summary"}, {"export", "--csv"}, {"startup"}, {"amperf"}, {"check-data"}, {"analyze"},
		{"table"}, {"convert", "--to", "csv", "--key", "nbody:C:*"}, {"compare"},
		{"show"}, {"stability"}, {"similarity"}, {"optimize"}, {"explain"}, {"plan"}, {"repair",
			"--dry-run"}, {"repair"},
		{"hold"}, {"resume"},
	}
	for _, file := range []string{"schedule", "config.toml", "analysis.json", "fingerprint.json",
		"journal", "lock", "hold", "results/0000000-001.json.gz"} {
		t.Run(file, func(t *testing.T) {
			b := complete(t)
			_ = os.Remove(b.path(file))
			fifo(t, b.path(file))
			for _, args := range all {
				switch args[0] {
				case "plan":
					args = append(args, b.toml)
				case "show":
					args = append(args, b.dir(), "0")
				case "compare":
					args = append(args, b.dir(), b.dir())
				default:
					args = append(args, b.dir())
				}
				r := krunctl(t, args...)
				if r.code > 3 || r.code != exitOK && r.stdout+r.stderr == "" {
					t.Errorf("%v:\n%s", args, r.text())
				}
			}
		})
	}
}
