package main

import (
	"time"

	"krund/internal/results"
	"krund/internal/schedule"
)

// Format of the JSON of status. See docs/output.md.
const statusFormat = 1

type (
	statusJSON struct {
		Format     int    `json:"format"`
		Experiment string `json:"experiment"`
		Directory  string `json:"folder"`
		Host       string `json:"host"` // "" until something ran
		ConfigHash string `json:"config_hash"`
		Created    string `json:"created"`
		Order      string `json:"order"`
		Seed       uint64 `json:"seed"`
		Reboot     string `json:"reboot"` // "" when unknown

		State       string     `json:"state"`
		Slots       countsJSON `json:"slots"`
		Percent     float64    `json:"percent"`
		Attempts    int        `json:"attempts"`
		Running     *slotJSON  `json:"running"`
		Interrupted *breakJSON `json:"interrupted"` // no krund is at work on the running slot; null when one is, or when it cannot be told
		Next        *slotJSON  `json:"next"`
		Last        *lastJSON  `json:"last"`

		Reboots    int     `json:"reboots"`
		MaxReboots *int    `json:"max_reboots"`
		Mails      int     `json:"mails"`
		MaxMails   *int    `json:"max_mails"`
		ETA        etaJSON `json:"eta"`

		ErrorsTotal int           `json:"errors_total"`
		Errors      []failureJSON `json:"errors"`
		Damaged     []damageJSON  `json:"damaged"`
		Findings    []string      `json:"findings"`
		Keys        []keyJSON     `json:"keys"`
	}
	countsJSON struct {
		Total       int `json:"total"`
		Finished    int `json:"finished"`
		Outstanding int `json:"outstanding"`
		Running     int `json:"running"`
		Completed   int `json:"completed"`
		Error       int `json:"error"`
		Timeout     int `json:"timeout"`
		Skipped     int `json:"skipped"`
		Damaged     int `json:"damaged"`
	}
	slotJSON struct {
		Slot    int    `json:"slot"`
		Attempt int    `json:"attempt"` // attempts begun
		Pexec   int    `json:"pexec"`
		Key     string `json:"key"`
	}
	breakJSON struct {
		Begun *time.Time `json:"begun"` // when the schedule was last changed, which was then; null when unknown
	}
	lastJSON struct {
		slotJSON
		Outcome results.Outcome `json:"outcome"`
		Started time.Time       `json:"started"`
		WallNS  int64           `json:"process_wall_ns"`
	}
	failureJSON struct {
		slotJSON
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
	}
	damageJSON struct {
		Slot   int    `json:"slot"`
		Reason string `json:"reason"`
	}
	keyJSON struct {
		Key        string     `json:"key"`
		Slots      countsJSON `json:"slots"`
		Attempts   int        `json:"attempts"`
		MeanWallNS *int64     `json:"mean_process_wall_ns"` // of the last executions; null when there are none
	}
)

func countsOf(c schedule.Counts) countsJSON {
	return countsJSON{
		Total: c.Total(), Finished: c.Final(), Outstanding: c.Outstanding, Running: c.Running,
		Completed: c.Completed, Error: c.Error, Timeout: c.Timeout, Skipped: c.Skipped, Damaged: c.Damaged,
	}
}

func slotOf(s *schedule.Slot) *slotJSON {
	if s == nil {
		return nil
	}
	return &slotJSON{Slot: s.Index, Attempt: s.Attempts, Pexec: s.Pexec, Key: s.Key.String()}
}
