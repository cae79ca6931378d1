package integrity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/probe"
)

const fingerprintFile = "fingerprint.json"

// machineFiles looks into what krund keeps about the machine: the journal of its settings, and the machine that the experiment began on. Neither is
// needed to read a result, and neither can be rebuilt.
func (c *check) machineFiles() {
	c.journal()
	c.fingerprint()
}

func (c *check) journal() {
	name := filepath.Base(c.directory.Journal())
	damage, err := control.JournalDamage(c.fsys, c.directory.Journal())
	switch {
	case errors.Is(err, control.ErrJournalVersion):
		c.report.problem(JournalVersion, name, "it is of a newer format", newerFix)
	case err != nil:
		c.report.problem(JournalUnread, name, err.Error(), "make the file readable, and look at the disk")
	}
	for _, line := range damage {
		c.report.problem(JournalDamaged, name, line+": a change of the machine that may never be taken back",
			"`krunctl restore` takes back the others, and a restart of the machine most settings; krund keeps a copy of the journal and begins a new one")
	}
}

func (c *check) fingerprint() {
	text, err := durable.ReadFile(c.fsys, c.directory.Fingerprint())
	if errors.Is(err, fs.ErrNotExist) {
		return // it is made with the first execution
	}
	var origin probe.Fingerprint
	if err == nil {
		err = json.Unmarshal(text, &origin)
	}
	if err != nil {
		c.report.problem(FingerprintBad, fingerprintFile, fmt.Sprintf("it does not say which machine the experiment began on: %v", err),
			copyFix+"; or remove it, and krund takes the machine, as it is, for that one")
	}
}
