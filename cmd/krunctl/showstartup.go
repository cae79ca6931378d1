package main

import (
	"errors"

	"krund/internal/reading/summary"
)

// startup prints how long each VM takes to start.
func (a *app) startup(arg string, o showOptions) error {
	f, m, err := a.opened(arg, o.key)
	if err != nil {
		return err
	}
	doc, err := summary.StartupOf(f.Dir(), m, summary.By(o.by))
	switch {
	case err != nil:
		return err
	case o.format == "json":
		return a.printJSON(doc)
	case len(doc.Rows) == 0:
		return errors.New("no record counts yet; `krunctl status` shows how far the experiment is")
	}
	a.console().Startup(doc)
	return nil
}
