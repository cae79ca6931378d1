package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// explainLimit bounds how long a failed machine may take to print its journal.
const explainLimit = time.Minute

// explain logs what is known when a test has failed: the journal of a running machine, and then,
// from the disk, the log of each experiment. With KRUND_RIG_LOGS it keeps the experiment
// directories there. It never fails the test.
func (m *Machine) explain() {
	if !m.tb.Failed() {
		return
	}
	if m.On() {
		ctx, cancel := context.WithTimeout(context.Background(), explainLimit)
		r, err := m.power.agent.run(ctx, explainLimit/2, "journalctl -b --no-pager -o short-monotonic "+
			"-u 'krund@*' -n 200; systemctl list-jobs --no-pager; sync")
		cancel()
		m.tb.Logf("the journal of this boot (%v):\n%s", err, r.Output)
		m.PowerCut()
	}
	if m.power == nil {
		return
	}
	if err := m.explainDisk(); err != nil {
		m.tb.Logf("read the disk of the failed machine: %v", err)
	}
}

func (m *Machine) explainDisk() error {
	dir, err := os.MkdirTemp("", "krund-rig")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	disk, err := m.copyOfDisk(dir)
	if err != nil {
		return err
	}
	entries, err := disk.List(ExperimentHome)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a machine without krund
	}
	if err != nil {
		return err
	}
	keep := os.Getenv(envLogs)
	var errs []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name, ".krun") {
			continue
		}
		directory := path.Join(ExperimentHome, e.Name)
		log, err := disk.Read(path.Join(directory, "log"))
		m.tb.Logf("the log of %s (%v):\n%s", directory, err, log)
		if keep == "" {
			continue
		}
		to := filepath.Join(keep, m.logName()+".disk")
		if err := os.MkdirAll(to, 0o755); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := disk.request("rdump", directory, to); err != nil {
			errs = append(errs, fmt.Errorf("keep %s: %w", directory, err))
		}
	}
	return errors.Join(errs...)
}
