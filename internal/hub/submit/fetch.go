package submit

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"krund/internal/hub/api"
)

// Fetch writes the results of an ended experiment below dir, into the directory that it returns.
func Fetch(ctx context.Context, client *api.Client, id, dir string) (string, error) {
	state, err := client.Experiment(ctx, id)
	if err != nil {
		return "", err
	}
	if !state.Ended() {
		return "", fmt.Errorf("%w: %s; `krunctl hub wait %s` waits for it", ErrWaiting, progressText(state),
			id)
	}
	if !api.ValidName(state.Name) {
		return "", fmt.Errorf("experiment %s has a name that cannot be that of a directory", id)
	}
	content, err := client.Results(ctx, id)
	if err != nil {
		return "", err
	}
	defer content.Close() //nolint:errcheck // it was only read
	if err := untar(content, filepath.Join(dir, state.Name)); err != nil {
		return "", fmt.Errorf("fetch the results of experiment %s: %w", id, err)
	}
	return state.Name, nil
}

// Bounds of the results of an experiment.
const (
	resultFiles = 2_000_000
	resultBytes = 256 << 30
)

// untar writes the regular files of an archive below the new directory dir, and nothing elsewhere.
func untar(r io.Reader, dir string) error {
	const listed = 0o755
	if err := os.MkdirAll(dir, listed); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	in := tar.NewReader(io.LimitReader(r, resultBytes))
	for range resultFiles {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || strings.Count(h.Name, "/") > 3 {
			return fmt.Errorf("the hub sends %q, which is no file of an experiment", h.Name)
		}
		if err := root.MkdirAll(filepath.Dir(h.Name), listed); err != nil {
			return err
		}
		if err := extract(root, h.Name, in); err != nil {
			return err
		}
	}
	return fmt.Errorf("there are more than %d files", resultFiles)
}

func extract(root *os.Root, name string, in io.Reader) error {
	const readable = 0o644
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, readable)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, in)
	return errors.Join(err, file.Close())
}
