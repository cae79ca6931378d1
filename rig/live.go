package rig

import (
	"archive/tar"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ExperimentNow is Experiment for a running machine whose krund is not writing at the moment.
func (m *Machine) ExperimentNow(dir string) *Experiment {
	m.tb.Helper()
	packed, err := base64.StdEncoding.DecodeString(m.Sh(fmt.Sprintf("tar -c -C %s %s | base64 -w0",
		path.Dir(dir), path.Base(dir))))
	m.check(err)
	to := m.tb.TempDir()
	m.check(untar(to, strings.NewReader(string(packed))))
	e, err := ReadExperiment(filepath.Join(to, path.Base(dir)))
	m.check(err)
	return e
}

// untar unpacks directories and regular files below a directory of the host, and ignores other
// entries.
func untar(to string, r io.Reader) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("unpack: %w", err)
		case h.Typeflag == tar.TypeDir:
			if err := root.MkdirAll(h.Name, 0o755); err != nil {
				return err
			}
		case h.Typeflag == tar.TypeReg:
			data, err := io.ReadAll(in)
			if err == nil {
				err = root.WriteFile(h.Name, data, 0o644)
			}
			if err != nil {
				return fmt.Errorf("unpack: %w", err)
			}
		}
	}
}
