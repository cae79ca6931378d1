// Package machines holds copies of "/" of machines of different kinds for tests, one archive each:
// the files of /proc, /sys, /dev and /etc that krund reads. build.sh makes them. Only tests import
// it. Start reading at Unpack.
package machines

import (
	"bytes"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

//go:embed *.txtar more/*.txtar
var archives embed.FS

// Names returns the names of the machines with different frequency drivers, sorted.
func Names() []string { return names("*.txtar") }

// More returns the names of further machines, sorted: "more/graviton".
func More() []string { return names("more/*.txtar") }

func names(pattern string) []string {
	list, err := fs.Glob(archives, pattern)
	if err != nil {
		panic(err) // of a pattern of this file
	}
	for i, name := range list {
		list[i] = strings.TrimSuffix(name, ".txtar")
	}
	return list
}

// New unpacks a machine into a directory of the test and returns the directory.
func New(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := Unpack(dir, name); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Unpack creates dir with the tree of a machine. What an archive of text cannot hold stands in its
// comment, a line each: `link PATH TARGET` is a symbolic link, and `bytes PATH HEX` a file.
func Unpack(dir, name string) error {
	text, err := archives.ReadFile(name + ".txtar")
	if err != nil {
		return fmt.Errorf("no such machine: %w", err)
	}
	a := txtar.Parse(text)
	for line := range bytes.Lines(a.Comment) {
		words := strings.Fields(string(line))
		if len(words) != 3 {
			continue
		}
		switch path := filepath.Join(dir, words[1]); words[0] {
		case "link":
			if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
				err = os.Symlink(words[2], path)
			}
		case "bytes":
			var content []byte
			if content, err = hex.DecodeString(words[2]); err == nil {
				err = write(path, content)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, f := range a.Files {
		if err := write(filepath.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// write creates a file and its directories.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
