package rig

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"krund/rig/must"
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
		must.Do(t, w.WriteHeader(&h))
		if h.Size > 0 {
			must.Get(w.Write([]byte("abc")))(t)
		}
	}
	must.Do(t, w.Close())
	dir := t.TempDir()
	must.Do(t, untar(dir, bytes.NewReader(packed.Bytes())))
	got, err := os.ReadFile(filepath.Join(dir, "x.krun/results/a"))
	must.Be(t, err == nil && string(got) == "abc", got, err)
	_, err = os.Lstat(filepath.Join(dir, "x.krun/link"))
	must.Be(t, os.IsNotExist(err), "a link was unpacked", err)
	must.Refuse(t, untar(dir, bytes.NewReader(packed.Bytes()[:600])), "", "no error from a torn archive")
}
