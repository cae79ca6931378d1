package account

import (
	"os"
	"path/filepath"
	"testing"

	"krund/rig/must"
)

// TestOwnedInTmp: below a directory for everyone, files in directories that the user can write to
// are removed at any depth. Other files, which only root or their owner can have put there, stay.
func TestOwnedInTmp(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	modes := map[string]os.FileMode{
		"": 0o777, "shut": 0o755, "shut/open": 0o777, "group": 0o775, "barred": 0o700, "barred/open": 0o777,
		"mine": 0o700, "mine/deep": 0o755,
	}
	for _, name := range []string{"", "shut", "shut/open", "group", "barred", "barred/open", "mine",
		"mine/deep"} {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(path, 0o700))
		must.Do(t, os.Chmod(path, modes[name]|os.ModeSticky))
		file := filepath.Join(path, "file")
		must.Do(t, os.WriteFile(file, nil, 0o600))
		must.Do(t, os.Lchown(file, testUID, testUID))
	}
	for _, name := range []string{"mine", "mine/deep"} {
		must.Do(t, os.Lchown(filepath.Join(dir, name), testUID, testUID))
	}
	n, err := removeOwned(t.Context(), dir, testUID)
	must.Be(t, n == 7 && err == nil, "removed", n, err, "want 5 files and 2 directories")
	for name, want := range map[string]bool{
		"file": false, "shut/file": true, "shut/open/file": false, "group/file": false, "mine": false,
		"barred/file": true, "barred/open/file": true, // which root, and not the user, has put there
	} {
		_, err := os.Lstat(filepath.Join(dir, name))
		must.Equal(t, (err == nil), want, name, "there", err == nil)
	}
}

// BenchmarkOwned has 20,000 files of another user in directories that only that user can write to.
func BenchmarkOwned(b *testing.B) {
	dir := b.TempDir()
	must.Do(b, os.Chmod(dir, 0o777|os.ModeSticky))
	const directories, files = 200, 100
	for i := range directories {
		sub := filepath.Join(dir, string(rune('a'+i%26))+filepath.Base(dir)+string(rune('a'+i/26)))
		must.Do(b, os.Mkdir(sub, 0o755))
		for k := range files {
			must.Do(b, os.WriteFile(filepath.Join(sub, string(rune('a'+k%26))+string(rune('a'+k/26))), nil,
				0o600))
		}
	}
	for b.Loop() {
		must.Get(removeOwned(b.Context(), dir, testUID))(b)
	}
}
