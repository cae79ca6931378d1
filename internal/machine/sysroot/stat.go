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

// Ended reports whether the process has ended and only waits to be reaped.
func (s ProcessStat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

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

// ParseSchedstat reads the text of /proc/PID/schedstat: nanoseconds on a processor, nanoseconds of
// waiting for one, and the number of times that it was scheduled onto one (docs.kernel.org,
// scheduler/sched-stats).
func ParseSchedstat(text string) (ns, runs int64, err error) {
	f := strings.Fields(text)
	if len(f) != 3 {
		return 0, 0, fmt.Errorf("%.80q: want three numbers", text)
	}
	ns, err1 := strconv.ParseInt(f[0], 10, 64)
	runs, err2 := strconv.ParseInt(f[2], 10, 64)
	if errors.Join(err1, err2) != nil {
		return 0, 0, fmt.Errorf("%.80q: want three numbers", text)
	}
	return ns, runs, nil
}

// A Mount is a line of mountinfo, proc_pid_mountinfo(5).
type Mount struct {
	Device       string // "8:1"
	Root         string // directory of the file system that is mounted
	Point        string
	Kind, Source string // "ext4", "/dev/sda1"
}

// ParseMounts reads the text of /proc/PID/mountinfo, oldest mounts first. It skips lines of another
// form.
func ParseMounts(text string) []Mount {
	var list []Mount
	for line := range strings.Lines(text) {
		before, after, _ := strings.Cut(line, " - ")
		at, what := strings.Fields(before), strings.Fields(after)
		const least = 5 // id, parent, device, root, mount point; then options
		if len(at) < least || len(what) == 0 {
			continue
		}
		m := Mount{Device: at[2], Root: Unescape(at[3]), Point: Unescape(at[4]), Kind: what[0]}
		if len(what) > 1 {
			m.Source = what[1]
		}
		list = append(list, m)
	}
	return list
}

// Unescape replaces \ooo by the byte that it stands for: the kernel writes white space and
// backslashes of names that way.
func Unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// ParseGroup returns the control group of a controller of version 1, or of version 2 if it is "",
// from the text of /proc/PID/cgroup, cgroups(7): for each hierarchy a line ID:CONTROLLERS:PATH.
func ParseGroup(text, controller string) (group string, found bool) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && strings.Contains(","+parts[1]+",", ","+controller+",") {
			return parts[2], true
		}
	}
	return "", false
}
