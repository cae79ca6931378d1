package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

// outdated reports whether this is a quick run, and the experiment in the directory an earlier one
// that has ended, or had another configuration or other programs. A quick run is for trying: it is
// replaced.
func (x *experiment) outdated(ctx context.Context, s *schedule.Schedule, other *directory.OtherConfig) bool {
	was, err := durable.ReadFile(x.FS, x.directory.ConfigCopy())
	if err != nil || !config.IsQuick(x.cfg.Text) || !config.IsQuick(string(was)) {
		return false
	}
	_, err = s.Current()
	return other != nil || errors.Is(err, schedule.ErrDone) || x.changedPrograms(ctx)
}

// discard removes the records and then the schedule: when power fails in between, the experiment is
// still one that is replaced.
func (x *experiment) discard() error {
	x.Log.Warn("the results of the earlier quick run are removed", "folder", x.directory.Dir())
	listing, err := x.reader.List()
	if err != nil {
		return err
	}
	var names []string
	for _, name := range listing.Records {
		names = append(names, filepath.Join(x.directory.Results(), name.String()))
	}
	for _, name := range listing.Replaced {
		names = append(names, filepath.Join(x.directory.Results(), name.Replaced()))
	}
	names = append(names, filepath.Join(x.directory.Dir(), rerun.File))
	for _, name := range names {
		if err := x.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the earlier quick run: %w", err)
		}
	}
	err = x.FS.SyncDir(x.directory.Results())
	if err == nil {
		err = x.FS.Remove(x.directory.Schedule())
	}
	if err == nil {
		err = x.FS.SyncDir(x.directory.Dir())
	}
	if err != nil {
		return fmt.Errorf("remove the earlier quick run: %w", err)
	}
	return nil
}
