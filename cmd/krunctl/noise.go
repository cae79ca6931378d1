package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"krund/internal/analysis/compare"
	"krund/internal/machine/noise"
	"krund/internal/trial"
	"krund/internal/trial/certificate"
)

// noise measures, stores and prints a certificate.
func (a *app) noise(ctx context.Context, o checkOptions) error {
	const least, most = compare.LeastForFloor, 1000
	switch {
	case o.executions != 0 && (o.executions < least || o.executions > most):
		return usageError(fmt.Errorf("--executions must be 0, or from %d to %d, not %d: fewer say little "+
			"about how much they vary", least, most, o.executions))
	case o.prove && a.uid != 0:
		return errors.New("--prove changes settings of the machine and needs root; use sudo")
	}
	work, err := os.MkdirTemp("", "krunctl-noise-")
	if err != nil {
		return fmt.Errorf("make a directory for the measurement: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	krund, err := trial.KrundPath()
	if err != nil {
		return err
	}
	n := certificate.Run{FS: a.fsys, Host: a.host, Krund: krund, Work: work, Now: a.now, Say: a.talk,
		Time: cmp.Or(o.time, 10*time.Second), CPUs: o.cpus, Executions: o.executions, Compare: o.prove}
	c, err := n.Certificate(ctx)
	if err != nil {
		return err
	}
	if o.output == "" && a.uid == 0 {
		o.output = filepath.Join(a.state, noise.Directory)
	}
	file := ""
	if o.output != "" {
		earlier, err := noise.Earlier(a.fsys, o.output, c)
		if err != nil {
			return err
		}
		c.Boots = certificate.Boots(c, earlier)
		if file, err = noise.Store(a.fsys, o.output, c); err != nil {
			return err
		}
	}
	if o.format == "json" {
		return a.printJSON(c)
	}
	a.console().Certificate(c)
	if file == "" {
		a.talk("the certificate is not stored: run it as root, or use -o DIRECTORY")
	} else {
		a.print("\nstored as %s\n", file)
	}
	return nil
}
