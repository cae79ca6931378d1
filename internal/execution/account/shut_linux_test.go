package account

import (
	"os"
	"path/filepath"
	"testing"
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
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, modes[name]|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(path, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(file, testUID, testUID); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mine", "mine/deep"} {
		if err := os.Lchown(filepath.Join(dir, name), testUID, testUID); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := removeOwned(t.Context(), dir, testUID); n != 7 || err != nil {
		t.Errorf("removed %d, %v; want 5 files and 2 directories", n, err)
	}
	for name, want := range map[string]bool{
		"file": false, "shut/file": true, "shut/open/file": false, "group/file": false, "mine": false,
		"barred/file": true, "barred/open/file": true, // which root, and not the user, has put there
	} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: there: %t, want %t", name, err == nil, want)
		}
	}
}

// BenchmarkOwned has 20,000 files of another user in directories that only that user can write to.
func BenchmarkOwned(b *testing.B) {
	dir := b.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		b.Fatal(err)
	}
	const directories, files = 200, 100
	for i := range directories {
		sub := filepath.Join(dir, string(rune('a'+i%26))+filepath.Base(dir)+string(rune('a'+i/26)))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for k := range files {
			if err := os.WriteFile(filepath.Join(sub, string(rune('a'+k%26))+string(rune('a'+k/26))), nil,
				0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		if _, err := removeOwned(b.Context(), dir, testUID); err != nil {
			b.Fatal(err)
		}
	}
}
