package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"krund/internal/hub/database"
	"krund/internal/hub/rebuild"
)

// tables lets krunctl convert the records of each machine to Parquet, a row per iteration, and puts
// the files into the store. Their names are the partitions that DuckDB, Spark and pandas know:
//
//	name=NAME/experiment=ID/machine=MACHINE/benchmark=B/vm=V/variant=X/[arm=A/]iterations.parquet
//
// They can be made again from the records, and are replaced when the experiment changes.
func (s Histories) tables(ctx context.Context, x database.Experiment, dir string) error {
	machines, err := os.ReadDir(dir)
	for _, entry := range machines {
		machine := entry.Name()
		from := filepath.Join(dir, machine, x.Name+".krun")
		if _, err := os.Lstat(from); err != nil {
			continue // something else
		}
		to := filepath.Join(dir, "tables", machine)
		_, failed := rebuild.Krunctl(ctx, s.Krunctl, dir,
			[]string{"convert", "--to", "parquet", "--output", to, from})
		// if records are damaged, krunctl fails and converts the others nevertheless
		stored, wrong := s.store(ctx, to, partition(x)+"/machine="+machine)
		if stored == 0 {
			err = errors.Join(err, failed)
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// partition is where the tables of an experiment are.
func partition(x database.Experiment) string {
	return fmt.Sprintf("name=%s/experiment=%s", x.Name, x.ID)
}

// store stores all files below a directory, and returns their number.
func (s Histories) store(ctx context.Context, dir, name string) (n int, err error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := s.Cache.FS.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		info, err := entry.Info()
		if err != nil {
			return err
		}
		n++
		return s.Cache.Store.PutTable(ctx, name+"/"+filepath.ToSlash(below), info.Size(), f)
	})
	return n, err
}
