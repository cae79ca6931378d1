package integrity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/machine/probe"
)

const fingerprintFile = "fingerprint.json"

// machineFiles checks krund's files about the machine: the journal of its settings, and the
// fingerprint of the machine on which the experiment began. Neither is needed to read a result, and
// neither can be rebuilt.
func (c *check) machineFiles() {
	c.journal()
	c.fingerprint()
}

func (c *check) journal() {
	name := filepath.Base(c.directory.Journal())
	damage, err := control.JournalDamage(c.fsys, c.directory.Journal())
	switch {
	case errors.Is(err, control.ErrJournalVersion):
		c.report.problem(JournalVersion, name, "it has a newer format", newerFix)
	case err != nil:
		c.report.problem(JournalUnread, name, err.Error(), "make the file readable, and check the disk")
	}
	for _, line := range damage {
		c.report.problem(JournalDamaged, name, line+": a change of the machine that may never be restored",
			"`krunctl repair --machine` restores the others, and restarting the machine restores most settings; "+
				"krund keeps a copy of the journal and starts a new one")
	}
}

func (c *check) fingerprint() {
	text, err := durable.ReadFile(c.fsys, c.directory.Fingerprint())
	if errors.Is(err, fs.ErrNotExist) {
		return // the first execution creates it
	}
	var origin probe.Fingerprint
	if err == nil {
		err = json.Unmarshal(text, &origin)
	}
	if err != nil {
		c.report.problem(FingerprintBad, fingerprintFile,
			fmt.Sprintf("it does not identify the machine on which the experiment began: %v", err),
			copyFix+"; or remove it, and krund assumes that it is this machine in its current state")
	}
}
