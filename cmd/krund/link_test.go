package main

import (
	"os"
	"path/filepath"
	"testing"

	"krund/internal/experiment/config"
	"krund/rig/must"
)

// TestDirectoryByABystandersLink: a link that a user has put into a directory for all leads root
// nowhere.
func TestDirectoryByABystandersLink(t *testing.T) {
	must.Root(t, "only root can be led")
	public, secret := t.TempDir(), t.TempDir()
	link := filepath.Join(public, "demo.krun")
	for _, err := range []error{
		os.Chmod(public, 0o777|os.ModeSticky), os.Symlink(secret, link), os.Lchown(link, 4711, 4711),
	} {
		must.Do(t, err)
	}
	must.Refused(makeDirectory(link, config.RebootNone))(t, "", "the link was followed")
	made, err := os.ReadDir(secret)
	must.Be(t, err == nil && len(made) == 0, "root has made", made, err)
}
