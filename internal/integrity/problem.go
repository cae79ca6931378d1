package integrity

import (
	"krund/internal/results"
	"krund/internal/schedule"
)

// Code says what sort of problem it is, for programs.
type Code string

// The codes. They are part of the output of krunctl: never change one.
const (
	ConfigMissing    Code = "config_missing"   // config.toml cannot be read
	ConfigDiffers    Code = "config_differs"   // it is not the text the schedule was made from
	ConfigInvalid    Code = "config_invalid"   // it has mistakes
	ScheduleMissing  Code = "schedule_missing" //
	ScheduleVersion  Code = "schedule_version" // of a newer format
	ScheduleSize     Code = "schedule_size"    // truncated or extended
	ScheduleUnread   Code = "schedule_unread"  // an error of the file system
	HeaderDamaged    Code = "header_damaged"   // one copy
	HeadersDamaged   Code = "headers_damaged"  // both copies
	SlotDamaged      Code = "slot_damaged"     //
	PlanDiffers      Code = "plan_differs"     // a slot is not as the configuration plans it
	RecordDamaged    Code = "record_damaged"   // a record does not decode
	RecordVersion    Code = "record_version"   // a record of a newer format
	RecordUnread     Code = "record_unread"    // an error of the file system
	RecordDoubtful   Code = "record_doubtful"  // contradicts itself
	RecordStray      Code = "record_stray"     // its slot is not in the schedule
	RecordDiffers    Code = "record_differs"   // other key or number than its slot
	RecordConfig     Code = "record_config"    // measured under another configuration
	RecordAhead      Code = "record_ahead"     // an attempt that the slot has not counted
	CompletedTwice   Code = "completed_twice"  // two completed records of one slot
	RecordLost       Code = "record_lost"      // the slot is finished, and its record is not there
	SlotBehind       Code = "slot_behind"      // the record is final, and the slot unfinished
	OutcomeDiffers   Code = "outcome_differs"  // slot and record are final and disagree
	JournalDamaged   Code = "journal_damaged"  // changes of the machine that may never be taken back
	JournalVersion   Code = "journal_version"  // of a newer format
	JournalUnread    Code = "journal_unread"   // an error of the file system
	FingerprintBad   Code = "fingerprint_damaged"
	Leftover         Code = "leftover"           // a temporary file of a crash
	Foreign          Code = "foreign"            // not krund's
	ResultsUnlisted  Code = "results_unlisted"   // the directory of the records cannot be read
	KeptBroken       Code = "kept_broken"        // a note, not a problem: an earlier repair kept a copy
	UnfinishedRecord Code = "unfinished_records" // a note: krund closes the slot at its next start
)

// Problem is one thing that is not as it should be.
type Problem struct {
	Code    Code   `json:"code"`
	File    string `json:"file"` // in the experiment's directory
	Slot    *int   `json:"slot"`
	Attempt *int   `json:"attempt"`
	What    string `json:"what"`
	Fix     string `json:"fix"`
}

// Report is what Check found.
type Report struct {
	Slots     schedule.Counts // all zero when the schedule could not be read
	Records   int             // files of records
	Outcomes  map[results.Outcome]int
	Completed int   // slots with a completed record
	Bytes     int64 // of all files of the directory and its results
	Problems  []Problem
	Notes     []Problem // odd, and no reason to worry
}

func (r *Report) problem(c Code, file, what, fix string) {
	r.Problems = append(r.Problems, Problem{Code: c, File: file, What: what, Fix: fix})
}

func (r *Report) slot(c Code, file string, slot int, what, fix string) {
	r.Problems = append(r.Problems, Problem{Code: c, File: file, Slot: &slot, What: what, Fix: fix})
}

func (r *Report) record(c Code, n results.Name, what, fix string) {
	r.Problems = append(r.Problems, Problem{
		Code: c, File: resultsDir + "/" + n.String(), Slot: &n.Slot, Attempt: &n.Attempt, What: what, Fix: fix,
	})
}

func (r *Report) note(c Code, file, what, fix string) {
	r.Notes = append(r.Notes, Problem{Code: c, File: file, What: what, Fix: fix})
}

// Remedies that several problems share.
const (
	repairFix = "stop krund and run `krunctl repair`"
	copyFix   = "get the file from a copy of the directory"
	newerFix  = "use the krunctl that belongs to the krund that made it"
)

// resultsDir is the name of the directory of the records.
const resultsDir = "results"
