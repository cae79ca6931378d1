package child

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The stage reports on a pipe that execve closes: at most one line of JSON, the report, and after
// it at most one failure of fixed size. Once its memory limit is in force the stage must not
// allocate, so that failure is three bytes written by hand.

// report is the stage's line.
type report struct {
	Ready      bool          `json:"ready"`                 // only limits, stamp and execve are left
	Step       string        `json:"step,omitempty"`        // what failed, when not ready
	Errno      int           `json:"errno,omitempty"`       // how; 0 when it was no system call
	Text       string        `json:"text,omitempty"`        // the error's text
	Remarks    []string      `json:"remarks,omitempty"`     // what was refused but can be done without
	GroupError string        `json:"group_error,omitempty"` // why the control group could not be entered
	Seen       Seen          `json:"seen"`
	Cost       resourceUsage `json:"cost"`
}

// resourceUsage is what the kernel has counted for the process before it becomes the benchmark.
type resourceUsage struct {
	UserNS, SystemNS         int64
	MaxRSS                   int64 // bytes
	MinorFaults, MajorFaults int64
	Voluntary, Involuntary   int64
}

// The steps that are left after the report.
const (
	lateLimits byte = 'l'
	lateStamp  byte = 's'
	lateExec   byte = 'x'
)

// lateBytes is the size of a failure after the report: step, errno low byte, errno high byte.
const lateBytes = 3

// parseStatus reads what the stage wrote to the pipe. An empty pipe is not an error: the stage died
// before its report.
func parseStatus(text []byte) (report, error) {
	if len(text) == 0 {
		return report{}, nil
	}
	line, late, whole := bytes.Cut(text, []byte{'\n'})
	if !whole {
		return report{}, fmt.Errorf("the stage's report is cut short: %.200q", text)
	}
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		return report{}, fmt.Errorf("the stage's report: %w", err)
	}
	if len(late) == 0 || !r.Ready {
		return r, nil
	}
	if len(late) < lateBytes {
		return report{}, fmt.Errorf("the stage's failure is cut short: %q", late)
	}
	r.Ready = false
	r.Errno = int(late[1]) | int(late[2])<<8
	switch late[0] {
	case lateLimits:
		r.Step = stepLimits
	case lateStamp:
		r.Step = stepStamp
	case lateExec:
		r.Step = stepExec
	default:
		return report{}, fmt.Errorf("the stage's failure is of unknown kind %q", late[0])
	}
	return r, nil
}
