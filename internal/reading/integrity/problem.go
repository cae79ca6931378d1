package integrity

import (
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/internal/schedule"
)

// Code identifies the kind of a problem for programs.
type Code string

// The codes. They are part of the output of krunctl: never change one.
const (
	ConfigMissing    Code = "config_missing"   // config.toml cannot be read
	ConfigDiffers    Code = "config_differs"   // it is not the text from which the schedule was created
	ConfigInvalid    Code = "config_invalid"   // it is invalid
	ScheduleMissing  Code = "schedule_missing" //
	ScheduleVersion  Code = "schedule_version" // it has a newer format
	ScheduleSize     Code = "schedule_size"    // truncated or extended
	ScheduleUnread   Code = "schedule_unread"  // an error of the file system
	HeaderDamaged    Code = "header_damaged"   // one copy
	HeadersDamaged   Code = "headers_damaged"  // both copies
	SlotDamaged      Code = "slot_damaged"     //
	PlanDiffers      Code = "plan_differs"     // a slot differs from the configuration's plan
	RecordDamaged    Code = "record_damaged"   // a record does not decode
	RecordVersion    Code = "record_version"   // a record has a newer format
	RecordUnread     Code = "record_unread"    // an error of the file system
	RecordDoubtful   Code = "record_doubtful"  // a record contradicts itself
	RecordStray      Code = "record_stray"     // the slot of a record is not in the schedule
	RecordDiffers    Code = "record_differs"   // a record has another key or number than its slot
	RecordConfig     Code = "record_config"    // measured under another configuration
	RecordAhead      Code = "record_ahead"     // a record of an attempt that the slot has not counted
	CompletedTwice   Code = "completed_twice"  // two completed records of one slot
	RecordLost       Code = "record_lost"      // the slot is finished, but its record is missing
	SlotBehind       Code = "slot_behind"      // the record is final, but the slot is unfinished
	OutcomeDiffers   Code = "outcome_differs"  // slot and record are final and disagree
	JournalDamaged   Code = "journal_damaged"  // changes of the machine that may never be restored
	JournalVersion   Code = "journal_version"  // it has a newer format
	JournalUnread    Code = "journal_unread"   // an error of the file system
	FingerprintBad   Code = "fingerprint_damaged"
	DecisionsBad     Code = "decisions_damaged"  // which keys were finished early, and why
	EditionsBad      Code = "editions_damaged"   // which programs are measured
	Leftover         Code = "leftover"           // a temporary file left over from a crash
	Foreign          Code = "foreign"            // not created by krund
	ResultsUnlisted  Code = "results_unlisted"   // the directory of the records cannot be read
	KeptBroken       Code = "kept_broken"        // a note, not a problem: an earlier repair set a file aside
	RerunUnfinished  Code = "rerun_unfinished"   // a request for reruns was interrupted
	RerunDamaged     Code = "rerun_damaged"      // the list of the slots to run again cannot be read
	KeptReplaced     Code = "kept_replaced"      // a note: a rerun has replaced the record
	UnfinishedRecord Code = "unfinished_records" // a note: krund finishes the slot at its next start
	GrowthUnfinished Code = "growth_unfinished"  // a note: krund completes it at its next start
)

// Defect is one inconsistency.
type Defect struct {
	Code    Code   `json:"code"`
	File    string `json:"file"` // path in the experiment's directory
	Slot    *int   `json:"slot"`
	Attempt *int   `json:"attempt"`
	What    string `json:"what"`
	Fix     string `json:"fix"`
}

// CheckReport is the result of Check.
type CheckReport struct {
	Slots     schedule.Counts         `json:"-"`       // all zero if the schedule could not be read
	Records   int                     `json:"records"` // record files
	Outcomes  map[results.Outcome]int `json:"outcomes"`
	Completed int                     `json:"slots_with_completed_record"`
	Bytes     int64                   `json:"bytes"` // size of all files in the directory and its results
	// which keys were measured with different programs, and why; "": none
	Programs string   `json:"programs,omitempty"`
	Problems []Defect `json:"problems"`
	Notes    []Defect `json:"notes"` // unusual, but harmless
}

func (r *CheckReport) problem(c Code, file, what, fix string) {
	r.Problems = append(r.Problems, Defect{Code: c, File: file, What: what, Fix: fix})
}

func (r *CheckReport) slot(c Code, file string, slot int, what, fix string) {
	r.Problems = append(r.Problems, Defect{Code: c, File: file, Slot: &slot, What: what, Fix: fix})
}

func (r *CheckReport) record(c Code, n results.Name, what, fix string) {
	r.Problems = append(r.Problems, Defect{
		Code: c, File: resultsDir + "/" + n.String(), Slot: &n.Slot, Attempt: &n.Attempt, What: what,
		Fix: fix,
	})
}

func (r *CheckReport) note(c Code, file, what, fix string) {
	r.Notes = append(r.Notes, Defect{Code: c, File: file, What: what, Fix: fix})
}

// Fixes that several problems share.
const (
	repairFix = "stop krund and run `krunctl repair`"
	copyFix   = "restore the file from a copy of the directory"
	newerFix  = "use the krunctl of the krund version that wrote it"
)

// resultsDir is the name of the results directory.
const resultsDir = "results"

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document is the JSON form of a CheckReport.
type Document struct {
	Format    int                `json:"format"`
	Directory string             `json:"folder"`
	OK        bool               `json:"ok"`
	Slots     summary.SlotCounts `json:"slots"`
	CheckReport
}

// Document returns the JSON form of the check of a directory.
func (r CheckReport) Document(dir string) Document {
	doc := Document{Format: Format, Directory: dir, OK: len(r.Problems) == 0,
		Slots: summary.CountsOf(r.Slots), CheckReport: r}
	doc.Problems, doc.Notes = append([]Defect{}, r.Problems...), append([]Defect{}, r.Notes...)
	all := []results.Outcome{results.Completed, results.Error, results.Timeout, results.Rerun}
	for _, outcome := range all {
		doc.Outcomes[outcome] += 0 // so that it is there
	}
	return doc
}
