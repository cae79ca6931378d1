package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// fileInfo is a file of some mode and owner.
type fileInfo struct {
	mode os.FileMode
	uid  uint32
}

func (fileInfo) Name() string        { return "x" }
func (fileInfo) Size() int64         { return 0 }
func (f fileInfo) Mode() os.FileMode { return f.mode }
func (fileInfo) ModTime() time.Time  { return time.Time{} }
func (fileInfo) IsDir() bool         { return false }
func (f fileInfo) Sys() any          { return &syscall.Stat_t{Uid: f.uid} }

func TestDistrust(t *testing.T) {
	tests := []struct {
		name   string
		file   fileInfo
		uid    int
		reboot string
		want   string
	}{
		{"root's own", fileInfo{0o644, 0}, 0, RebootHardware, ""},
		{"a user's, run by a user", fileInfo{0o666, 1000}, 1000, RebootHardware, ""},
		{"group may write", fileInfo{0o664, 0}, 0, RebootNone, "others may write it (mode 0664), and root runs what is in it; chmod go-w it"},
		{"others may write", fileInfo{0o646, 0}, 0, RebootHardware, "others may write it (mode 0646), and root runs what is in it; chmod go-w it"},
		{"a user's, by hand", fileInfo{0o644, 1000}, 0, RebootNone, ""},
		{"a user's, at each boot", fileInfo{0o644, 1000}, 0, RebootHardware, "it belongs to user 1000, and root runs what is in it; chown root it"},
	}
	for _, test := range tests {
		c := &Config{Experiment: Experiment{Reboot: test.reboot}}
		got := ""
		if err := c.distrust(test.file, test.uid); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestCheckFilesDistrustsFilesAndHooks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's commands are at stake")
	}
	path := filepath.Join(t.TempDir(), "x.toml")
	c := &Config{Path: path, shown: "x.toml", lines: lines{"hooks.before[0]": 7}, Hooks: Hooks{Before: [][]string{{path}}}}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	want := "x.toml:1: this file: others may write it (mode 0777), and root runs what is in it; chmod go-w it\n" +
		"x.toml:7: hooks.before[0]: " + path + ": others may write it (mode 0777), and root runs what is in it; chmod go-w it"
	if err := c.CheckFiles(); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
