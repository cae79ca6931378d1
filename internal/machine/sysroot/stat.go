package sysroot

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ProcessStat is a process or thread as its file stat in /proc shows it.
type ProcessStat struct {
	PID, Parent, Session int
	Name                 string // as the kernel shows it, with any character
	State                byte   // R, S, D, T, Z, ...
	Flags                uint64 // PF_* of the kernel's linux/sched.h
	Ticks                uint64 // processor time in user and kernel mode
	Start                uint64 // clock ticks after boot; unique together with PID
	CPU                  int    // processor that it was last on; -1 if the file does not say
}

// ParseProcessStat reads the text of /proc/PID/stat (proc_pid_stat(5)). The name may contain any
// character, also brackets and line ends, so it ends at the last closing bracket.
func ParseProcessStat(text string) (ProcessStat, error) {
	failed := func() (ProcessStat, error) {
		return ProcessStat{}, fmt.Errorf("%.80q: not in the form of proc_pid_stat(5)", text)
	}
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return failed()
	}
	f := strings.Fields(text[end+1:]) // the manual page counts from 1, and the first one here is 3
	const parent, session, flags, user, system = 4 - 3, 6 - 3, 9 - 3, 14 - 3, 15 - 3
	const start, processor = 22 - 3, 39 - 3
	if len(f) <= start || len(f[0]) != 1 {
		return failed()
	}
	s := ProcessStat{Name: text[open+1 : end], State: f[0][0], CPU: -1}
	var u, k uint64
	var errs [8]error
	s.PID, errs[0] = strconv.Atoi(strings.TrimSpace(text[:open]))
	s.Parent, errs[1] = strconv.Atoi(f[parent])
	s.Session, errs[2] = strconv.Atoi(f[session])
	s.Flags, errs[3] = strconv.ParseUint(f[flags], 10, 64)
	u, errs[4] = strconv.ParseUint(f[user], 10, 63)
	k, errs[5] = strconv.ParseUint(f[system], 10, 63)
	s.Start, errs[6] = strconv.ParseUint(f[start], 10, 63)
	if len(f) > processor {
		s.CPU, errs[7] = strconv.Atoi(f[processor])
	}
	if s.Ticks = u + k; errors.Join(errs[:]...) != nil || s.PID < 1 {
		return failed()
	}
	return s, nil
}
