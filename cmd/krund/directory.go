package main

import (
	"errors"
	"fmt"
	"io/fs"

	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/durable"
	"krund/internal/trust"
)

// makeDirectory makes the experiment's directory, or opens it, and refuses one that others could
// change. All further work in it goes through its FS, which stays with the directory that was
// checked.
func makeDirectory(dir, mode string) (directory.Directory, error) {
	verdict, err := trust.Look(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is made below; the way there was judged
	}
	if err == nil {
		err = config.Rule(mode)(verdict)
	}
	if err != nil {
		return directory.Directory{}, fmt.Errorf("check the way to the experiment's directory: %w", err)
	}
	if _, err := directory.Create(durable.OS(), dir); err != nil {
		return directory.Directory{}, err
	}
	return directory.OpenChecked(durable.OS(), dir, config.Rule(mode))
}
