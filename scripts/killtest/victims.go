package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The victims.
const (
	victimKrund     = "krund"
	victimGuard     = "guard"     // the process that restores the machine when krund is dead
	victimStage     = "stage"     // the process that becomes the benchmark
	victimBenchmark = "benchmark" //
	victimAll       = "all"       // krund and all existing others at once, like systemd
)

func (t *test) tally() string {
	var parts []string
	for _, victim := range []string{victimKrund, victimGuard, victimStage, victimBenchmark, victimAll} {
		parts = append(parts, fmt.Sprintf("%d %s", t.kills[victim], victim))
	}
	return strings.Join(parts, ", ")
}

// kill kills a victim at a random moment of its life, and reports whether there was one. Half of
// krund's moments are just after it started to write to the schedule or the results, because it
// writes for only a few milliseconds of each execution.
func (t *test) kill(k *krund, victim string) bool {
	var list []process
	switch victim {
	case victimKrund:
		if t.random.IntN(2) == 0 {
			t.awaitWrite(k)
			pause(t.random, 8*time.Millisecond)
		}
	case victimBenchmark:
		list = t.await(k, victim)
		pause(t.random, 40*time.Millisecond)
	default: // a stage lives for a few milliseconds
		list = t.await(k, victim)
		pause(t.random, 3*time.Millisecond)
	}
	hit := victim == victimKrund && k.cmd.Process.Kill() == nil
	for _, p := range list {
		hit = p.kill() || hit
	}
	if hit {
		k.killed[victim] = true
		t.kills[victim]++
		t.round[victim]++
	}
	return hit
}

// poll is the polling interval of the test.
const poll = 200 * time.Microsecond

// await waits until there is a victim or krund has ended.
func (t *test) await(k *krund, victim string) []process {
	for k.alive() {
		if list := t.victims(k.cmd.Process.Pid, victim); len(list) > 0 {
			return list
		}
		sleep(poll)
	}
	return nil
}

// awaitWrite waits until krund has written to the schedule or created a file among the results, or
// has ended.
func (t *test) awaitWrite(k *krund) {
	last := func() (times [2]time.Time) {
		for i, name := range []string{"schedule", "results"} {
			if info, err := os.Stat(filepath.Join(t.directory, name)); err == nil {
				times[i] = info.ModTime()
			}
		}
		return times
	}
	for before := last(); k.alive() && last() == before; {
		sleep(poll)
	}
}

// victims returns the processes of the krund with this PID, and all guards of the experiment.
func (t *test) victims(krund int, victim string) []process {
	var list []process
	for _, p := range processes() {
		is := t.part(p)
		if p.parent == krund && filepath.Base(p.args[0]) == "krund-stage" {
			is = victimStage
		}
		mine := p.parent == krund || p.pid == krund || is == victimGuard
		if mine && is != "" && (is == victim || victim == victimAll) {
			list = append(list, p)
		}
	}
	return list
}

// part returns which part of this test a process is, by its arguments. It returns "" for other
// processes, and for a stage, whose arguments are the same everywhere.
func (t *test) part(p process) string {
	switch name := filepath.Base(p.args[0]); {
	case !slices.ContainsFunc(p.args, func(arg string) bool { return strings.HasPrefix(arg, t.work) }):
		return ""
	case name == "krund-guard" && p.args[1] == "watch":
		return victimGuard
	case name == "krund-guard":
		return ""
	case name == "krund":
		return victimKrund
	}
	return victimBenchmark
}

// process is a process of this machine.
type process struct {
	pid, parent int
	args        []string // never empty
}

// kill kills the process if it is still the one that was found.
func (p process) kill() bool {
	handle, err := os.FindProcess(p.pid) // refers to the process rather than its PID
	if err != nil {
		return false
	}
	defer handle.Release() //nolint:errcheck // nothing can be lost
	now, ok := read(p.pid)
	return ok && now.parent == p.parent && handle.Kill() == nil
}

// processes returns all processes that can be inspected.
func processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []process
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := read(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// read reads one process. It returns false if it is gone, or if it is a kernel thread.
func read(pid int) (process, bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return process{}, false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // proc_pid_stat(5): state, parent, ...
	if len(fields) < 2 {
		return process{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return process{pid, parent, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")}, err == nil
}
