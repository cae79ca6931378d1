package unit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for _, c := range []struct {
		name         string
		folder, file fs.FileMode
		owner        int // of the folder
		want         string
	}{
		{"root's alone", 0o755, 0o644, 0, ""},
		{"a file that others may write", 0o755, 0o666, 0, "x.toml can be changed by others"},
		{"a file that a group may write", 0o755, 0o664, 0, "chmod go-w"},
		{"a folder in which others may put another file", 0o777, 0o644, 0, "can be changed by others"},
		{"a folder of somebody else", 0o755, 0o644, 64123, "belongs to user 64123"},
		{"a sticky folder", 0o777 | fs.ModeSticky, 0o644, 0, ""},
	} {
		dir := filepath.Join(t.TempDir(), "lab")
		path := filepath.Join(dir, "x.toml")
		err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(path, nil, 0o644), os.Chmod(path, c.file), os.Chmod(dir, c.folder), os.Chown(dir, c.owner, 0))
		if err != nil {
			t.Fatal(err)
		}
		err = Trusted(path, 0)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err := Trusted(path, 1000); err != nil {
			t.Errorf("%s, for a user: %v", c.name, err)
		}
	}
	if err := Trusted(filepath.Join(t.TempDir(), "none.toml"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}
