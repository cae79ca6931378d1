package rig

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestUntar(t *testing.T) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, h := range []tar.Header{
		{Name: "x.krun/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "x.krun/results/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "x.krun/results/a", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "x.krun/link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("abc")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := untar(dir, bytes.NewReader(packed.Bytes())); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "x.krun/results/a")); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "x.krun/link")); !os.IsNotExist(err) {
		t.Errorf("a link was unpacked: %v", err)
	}
	if err := untar(dir, bytes.NewReader(packed.Bytes()[:600])); err == nil {
		t.Error("no error from a torn archive")
	}
}
