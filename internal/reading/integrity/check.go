// Package integrity checks the consistency of an experiment's directory: the checksums of the
// schedule, the records, the agreement of both, and the configuration that both came from. Check
// only reads and returns a list of problems, each with a fix. Mend repairs what can be repaired
// without losing anything: it keeps what it replaces under a name that ends in .broken.
//
// Check may run while krund does. It then ignores unfinished work: the slot that krund is working
// on. Start reading at Check; see Mend for repairs.
package integrity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/internal/machine/probe"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

// Check reads everything in the directory f. host is the machine for which the configuration is
// tried if it does not fit that of the records, because its plan may depend on the machine. The
// memory that it uses grows with the number of slots that have records, not with their size.
func Check(f directory.Directory, host string) CheckReport { return examine(f, host).report }

func examine(f directory.Directory, host string) *check {
	c := &check{fsys: f.FS(), directory: f, host: host,
		report: CheckReport{Outcomes: make(map[results.Outcome]int)},
		slots:  make(map[int]*history)}
	c.files()
	c.reruns()
	c.decisions()
	c.editions()
	c.journal()
	c.fingerprint()
	c.records()
	c.openConfig()
	c.schedule()
	c.configs()
	return c
}

type check struct {
	fsys      durable.FS
	directory directory.Directory
	host      string
	report    CheckReport

	slots  map[int]*history // by slot
	hosts  []string         // of the records
	hashes map[string]results.Name
	newest time.Time      // start of the attempt that provides the base temperatures
	facts  schedule.Facts // for rebuilding a header
	latest identity.Latest

	pending   []int          // slots of a request for reruns that was interrupted, in ascending order
	strangers []results.Name // records that do not belong to their slot's process execution

	config  *config.Config   // nil if there is no usable one
	stages  []schedule.Stage // of an experiment that grew, the present one last
	earlier []string         // the hashes of its configurations
	header  *schedule.Header
}

// history is what the records contain about one slot.
type history struct {
	schedule.History
	attempts  []int          // that have a record file, whatever its contents, or one set aside by a repair
	broken    int            // number of records that could not be read
	damaged   []results.Name // the damaged ones among them, without the merely unreadable ones
	completed int
}

// of removes records that do not belong to this slot's process execution.
func (h *history) of(slot schedule.Slot) *history {
	own := *h
	own.History = h.Of(slot)
	return &own
}

// reruns looks for a request for reruns that was interrupted.
func (c *check) reruns() {
	var err error
	c.pending, err = rerun.Pending(c.directory)
	switch {
	case err != nil:
		c.report.problem(RerunDamaged, rerun.File, err.Error(), "remove the file, then request the reruns "+
			"again (`krunctl run --again`)")
	case c.pending != nil:
		c.report.problem(RerunUnfinished, rerun.File, fmt.Sprintf("a request to run %s again was "+
			"interrupted", display.Count(len(c.pending), "slot")),
			"nothing: krund completes it at its next start; `krunctl repair` does, too")
	}
}

// decisions checks the file about keys that were finished early.
func (c *check) decisions() {
	path := c.directory.Decisions()
	if _, err := stop.Load(c.fsys, path); err != nil {
		c.report.problem(DecisionsBad, filepath.Base(path), err.Error(), "remove it: krund decides again at "+
			"its next start; the reasons for what is skipped already are lost")
	}
}

// editions checks the file about the programs that are measured.
func (c *check) editions() {
	path := c.directory.Editions()
	editions, err := identity.LoadEditions(c.fsys, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.report.problem(EditionsBad, filepath.Base(path), err.Error(),
			"restore it from a copy, or remove it; krund does not go on with it")
	}
	c.latest.Editions = editions
}

// records reads every record.
func (c *check) records() {
	r := results.NewReader(c.fsys, c.directory.Results())
	list, err := r.List()
	if err != nil {
		c.report.problem(ResultsUnlisted, resultsDir, err.Error(), "make the directory readable")
		return
	}
	c.report.Records = len(list.Records)
	for _, t := range list.Temps {
		c.report.problem(Leftover, resultsDir+"/"+t, "a temporary file left over from a crash, or being "+
			"written by krund", "`krunctl repair` removes it when krund is not running")
	}
	for _, name := range list.Foreign {
		c.foreign(resultsDir + "/" + name)
		if record, _, broken := strings.Cut(name, brokenMark); broken {
			if n, ok := results.ParseName(record); ok {
				h := c.history(n.Slot)
				h.attempts = append(h.attempts, n.Attempt)
			}
		}
	}
	for _, name := range list.Replaced {
		c.report.note(KeptReplaced, resultsDir+"/"+name.Replaced(), "replaced by a rerun of its slot "+
			"(`krunctl run --again`); it is not used", "keep it: it is the only record of that attempt")
		h := c.history(name.Slot)
		h.attempts = append(h.attempts, name.Attempt)
		h.Highest = max(h.Highest, name.Attempt)
	}
	c.hashes = make(map[string]results.Name)
	for l := range results.Scan(r, list.Records) {
		c.size(filepath.Join(c.directory.Results(), l.Name.String()))
		c.one(l)
	}
	_, c.report.Programs = c.latest.Others()
}

// one checks one record in isolation.
func (c *check) one(l results.Loaded) {
	h := c.history(l.Name.Slot)
	h.attempts = append(h.attempts, l.Name.Attempt)
	c.facts.Attempts += max(l.Name.Attempt-h.Highest, 0)
	h.Highest = max(h.Highest, l.Name.Attempt)
	var damaged *results.FileError
	switch {
	case l.Err == nil:
	case errors.Is(l.Err, results.ErrVersion):
		h.broken++
		c.report.record(RecordVersion, l.Name, l.Err.Error(), newerFix)
		return
	case errors.As(l.Err, &damaged) && !unreadable(l.Err):
		h.broken++
		h.damaged = append(h.damaged, l.Name)
		c.report.record(RecordDamaged, l.Name, damaged.Err.Error(),
			copyFix+"; or "+repairFix+": it sets the damaged file aside and reschedules the slot")
		return
	default:
		h.broken++
		c.report.record(RecordUnread, l.Name, l.Err.Error(), "make the file readable, and check the disk")
		return
	}
	rec := l.Record
	c.report.Outcomes[rec.Outcome]++
	if rec.Outcome == results.Completed {
		h.completed++
		if h.completed == 1 {
			c.report.Completed++
			c.latest.Add(&rec)
		}
	}
	if err := rec.Check(); err != nil {
		c.report.record(RecordDoubtful, l.Name, err.Error(),
			"do not analyze it: move it out of the directory; `krunctl repair` then reschedules the slot")
	}
	if _, known := c.hashes[rec.ConfigHash]; !known {
		c.hashes[rec.ConfigHash] = l.Name
	}
	if len(c.hosts) == 0 || c.hosts[len(c.hosts)-1] != rec.Host {
		c.hosts = append(c.hosts, rec.Host)
	}
	if c.facts.First.IsZero() || rec.Started.Before(c.facts.First) {
		c.facts.First = rec.Started
	}
	if base := rec.Machine.Temperatures.Base; len(base) > 0 && !rec.Started.Before(c.newest) {
		c.facts.Base, c.newest = base, rec.Started
	}
	h.Records = append(h.Records, schedule.BriefOf(rec))
}

// history returns the history of a slot.
func (c *check) history(slot int) *history {
	h := c.slots[slot]
	if h == nil {
		h = &history{}
		c.slots[slot] = h
	}
	return h
}

// twice reports completed records of a slot after the first. Records that do not belong to the slot
// were removed before: they are fixed differently.
func (c *check) twice(h *history) {
	seen := false
	for _, r := range h.Records {
		if r.Outcome != results.Completed {
			continue
		}
		if seen {
			c.report.record(CompletedTwice, r.Name, "the slot has a completed record of an earlier attempt",
				"only the first one is used; move this one out of the directory, and report this as a bug")
			return
		}
		seen = true
	}
}

// unreadable reports whether err is an error of the file system, which says nothing about the
// contents of the file.
func unreadable(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

// Names of files in the directory.
const (
	scheduleFile = "schedule"
	configFile   = "config.toml"
	relinkedDir  = "relinked"
)

var ownFiles = map[string]bool{
	scheduleFile: true, configFile: true, resultsDir: true, "journal": true, "log": true, "lock": true,
	"holder": true, "hub.json": true,
	"analysis.json": true, "decisions.json": true, "fingerprint.json": true, "noise.json": true,
	string(directory.Hold): true,
	string(directory.Stop): true, string(directory.Accept): true, "editions.json": true, "reserve": true,
	"build.log": true,
	rerun.File:  true,
}

// brokenMark is part of the names of files that a repair has set aside.
const brokenMark = ".broken"

// files checks the names in the directory.
func (c *check) files() {
	entries, err := c.fsys.ReadDir(c.directory.Dir())
	if err != nil {
		c.report.problem(ResultsUnlisted, ".", err.Error(), "make the directory readable")
		return
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == resultsDir, name == relinkedDir:
		case ownFiles[name]:
			c.size(filepath.Join(c.directory.Dir(), name))
		case durable.IsTemp(name) && e.Type().IsRegular():
			c.report.problem(Leftover, name, "a temporary file left over from a crash, or being written by "+
				"krund", "`krunctl repair` removes it when krund is not running")
		default:
			c.foreign(name)
		}
	}
}

// foreign reports a file that is not krund's.
func (c *check) foreign(file string) {
	base := filepath.Base(file)
	if strings.Contains(base, brokenMark) || strings.HasPrefix(base, "journal.") || strings.HasPrefix(base,
		"log.") {
		fix := "remove it when you no longer need it"
		if strings.HasPrefix(file, resultsDir+"/") {
			fix = "keep it: it is the only record of that attempt"
		}
		c.report.note(KeptBroken, file, "set aside by a repair, possibly an earlier one", fix)
		return
	}
	c.report.problem(Foreign, file, "not created by krund", "move it out of the directory")
}

func (c *check) size(path string) {
	if info, err := c.fsys.Lstat(path); err == nil {
		c.report.Bytes += info.Size()
	}
}

// openConfig parses the configuration. The machine for which its plan matches the schedule is
// determined later.
func (c *check) openConfig() {
	text, err := durable.ReadFile(c.fsys, c.directory.ConfigCopy())
	if err != nil {
		c.report.problem(ConfigMissing, configFile, err.Error(),
			copyFix+", or repair with the original NAME.toml beside the directory: `krunctl repair`")
		return
	}
	cfg, err := c.parse(text, 0)
	if err != nil {
		c.report.problem(ConfigInvalid, configFile, fmt.Sprintf("it is invalid: %v", err), copyFix)
		return
	}
	c.config = cfg
}

// parse parses the configuration for the first machine, of those of the records and host, for which
// it plans the given number of slots. If there is none, or slots is 0, it is the first machine.
func (c *check) parse(text []byte, slots int) (first *config.Config, err error) {
	for _, host := range append(slices.Clone(c.hosts), c.host) {
		cfg, failed := config.Stored(experiment.ConfigOf(c.directory.Dir()), text, host, doctor.Settings())
		switch {
		case failed != nil:
			err = failed
		case cfg.Slots() == slots:
			return cfg, nil
		case first == nil:
			first = cfg
		}
	}
	if first != nil {
		err = nil
	}
	return first, err
}

// configs compares the configuration hashes.
func (c *check) configs() {
	want := ""
	if c.header != nil {
		want = c.header.ConfigHash
		if c.config != nil && c.config.Hash != want {
			c.report.problem(ConfigDiffers, configFile, "it is not the text from which the schedule was "+
				"created", copyFix+"; krund takes what an experiment grows by from the file beside the "+
				"directory, not from this copy")
		}
	} else if c.config != nil {
		want = c.config.Hash
	}
	for hash, name := range c.hashes {
		if want != "" && hash != want && !slices.Contains(c.earlier, hash) {
			c.report.record(RecordConfig, name, "this record, and perhaps others, was measured with "+
				"another configuration (hash "+hash+")",
				"move records of other experiments out of the directory")
		}
	}
}

const fingerprintFile = "fingerprint.json"

// journal checks the journal of krund's settings of the machine. Like the fingerprint of the
// machine on which the experiment began, it is not needed to read a result, and cannot be rebuilt.
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
