package main

import (
	"errors"
	"fmt"
	"io/fs"

	"krund/internal/durable"
	"krund/internal/durable/trust"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
)

// makeDirectory creates or opens the experiment's directory, and refuses one that other users could
// change. All further accesses go through its FS, which refers to the directory that was checked,
// even if it is renamed.
func makeDirectory(dir, mode string) (directory.Directory, error) {
	verdict, err := trust.Look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is created below; the path to it was checked
	}
	if err == nil {
		err = config.Rule(mode)(verdict)
	}
	if err != nil {
		return directory.Directory{}, fmt.Errorf("check the path to the experiment's directory: %w", err)
	}
	if _, err := directory.Create(durable.OS(), dir); err != nil {
		return directory.Directory{}, err
	}
	return directory.OpenChecked(durable.OS(), dir, config.Rule(mode))
}
