package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// announcement is the line that krund prints at the end of an execution.
var announcement = regexp.MustCompile(`(?m)^\[ *(\d+)/\d+\] .* (completed|error|timeout|rerun) `)

// hear processes the output of a krund. No execution may end twice.
func (t *test) hear(printed string) error {
	for _, m := range announcement.FindAllStringSubmatch(printed, -1) {
		number, err := strconv.Atoi(m[1])
		if err != nil {
			return err
		}
		slot := number - 1
		if was, twice := t.announced[slot]; twice {
			return fmt.Errorf("krund announced slot %d as %s, but before as %s", slot, m[2], was)
		}
		t.announced[slot] = m[2]
	}
	return nil
}

// sameSize checks that the size of the schedule has not changed.
func (t *test) sameSize() error {
	info, err := os.Stat(filepath.Join(t.directory, "schedule"))
	if errors.Is(err, os.ErrNotExist) && t.size == 0 {
		return nil // krund was killed before it created the schedule
	}
	if err != nil {
		return err
	}
	if t.size == 0 {
		t.size = info.Size()
	}
	if info.Size() != t.size {
		return fmt.Errorf("the size of the schedule changed from %d to %d", t.size, info.Size())
	}
	return nil
}

// finished checks an experiment with nothing outstanding, and removes it for the next one.
func (t *test) finished() error {
	t.unguarded = false // this krund has restored everything
	if err := t.guardsGone(); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	t.rounds++
	t.size = 0
	clear(t.round)
	clear(t.announced)
	return errors.Join(os.RemoveAll(t.directory), os.Truncate(t.log(), 0))
}

// check compares the export, the announcements and the benchmark's log.
func (t *test) check() error {
	if _, err := t.krunctl("check-data", t.directory); err != nil {
		return err
	}
	outcomes, err := t.outcomes()
	if err != nil {
		return err
	}
	failed := 0
	for slot := range keys * executions {
		outcome, ok := outcomes[slot]
		if announced, heard := t.announced[slot]; !ok || heard && announced != outcome {
			return fmt.Errorf("slot %d: the export has %q, krund announced %q", slot, outcome, announced)
		}
		if outcome != "completed" {
			failed++
		}
	}
	most := t.round[victimStage] + t.round[victimBenchmark] + t.round[victimAll]
	if failed > most || len(outcomes) > keys*executions {
		return fmt.Errorf("%d of %d executions failed, but %d were killed: %v",
			failed, len(outcomes), most, outcomes)
	}
	return t.compare(outcomes)
}

// outcomes returns the outcomes of all slots according to the export, which may contain each only
// once.
func (t *test) outcomes() (map[int]string, error) {
	rows, err := t.export("--executions", "--all-outcomes")
	if err != nil {
		return nil, err
	}
	outcomes := map[int]string{}
	for _, row := range rows {
		slot := int(row.number("slot"))
		if was, twice := outcomes[slot]; twice {
			return nil, fmt.Errorf("slot %d is exported as %s and as %s", slot, was, row["outcome"])
		}
		outcomes[slot] = row["outcome"]
	}
	return outcomes, nil
}

// compare checks every exported iteration against the benchmark's own log: exactly one iteration of
// that number ran at that time, all iterations of an execution ran in one process, and none is
// exported twice.
func (t *test) compare(outcomes map[int]string) error {
	ran, err := t.readLog()
	if err != nil {
		return err
	}
	rows, err := t.export("--long")
	if err != nil {
		return err
	}
	process, done := map[int]int64{}, map[int]int{}
	for _, row := range rows {
		slot, from := int(row.number("slot")), row.number("start_ns")
		first, _ := slices.BinarySearchFunc(ran, from, iteration.compare)
		last, _ := slices.BinarySearchFunc(ran, from+row.number("wall_ns")+1, iteration.compare)
		if last-first != 1 || ran[first].exported || ran[first].number != row.number("iteration") {
			return fmt.Errorf("slot %d, iteration %s at %d ns: the benchmark's log has %v at that time",
				slot, row["iteration"], from, ran[first:last])
		}
		if pid, known := process[slot]; known && pid != ran[first].pid {
			return fmt.Errorf("slot %d: iterations of the processes %d and %d", slot, pid, ran[first].pid)
		}
		ran[first].exported, process[slot] = true, ran[first].pid
		done[slot]++
	}
	for slot, outcome := range outcomes {
		if outcome == "completed" && done[slot] != iterations || outcome != "completed" && done[slot] != 0 {
			return fmt.Errorf("slot %d, %s: %d iterations were exported", slot, outcome, done[slot])
		}
	}
	t.rows += len(rows)
	return nil
}

// iteration is a line of the benchmark's log.
type iteration struct {
	pid, number int64
	at          int64 // time on the clock of the export, in the middle of the iteration
	exported    bool
}

func (r iteration) compare(at int64) int { return cmp.Compare(r.at, at) }

func (t *test) readLog() ([]iteration, error) {
	text, err := os.ReadFile(t.log())
	if err != nil {
		return nil, err
	}
	var ran []iteration
	for line := range strings.Lines(string(text)) {
		var r iteration
		if _, err := fmt.Sscanf(line, "%d %d %d\n", &r.pid, &r.number, &r.at); err != nil {
			return nil, fmt.Errorf("the benchmark's log: %q: %w", line, err)
		}
		ran = append(ran, r)
	}
	slices.SortFunc(ran, func(a, b iteration) int { return a.compare(b.at) })
	return ran, nil
}

// row is a row of a CSV file, keyed by the header.
type row map[string]string

// number returns a numeric field, or -1, which does not occur in the test, if it is not a number.
func (r row) number(name string) int64 {
	n, err := strconv.ParseInt(r[name], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (t *test) export(args ...string) ([]row, error) {
	text, err := t.krunctl(append([]string{"export", "--csv", t.directory}, args...)...)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the export: %w", err)
	}
	var rows []row
	for i, line := range lines {
		if i == 0 {
			continue
		}
		r := row{}
		for column, name := range lines[0] {
			r[name] = line[column]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (t *test) krunctl(args ...string) ([]byte, error) {
	c := exec.CommandContext(context.Background(), "build/bin/krunctl", args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", c, err, out, &stderr)
	}
	return out, nil
}

// guardsGone waits until no guard is left. The setting is then restored, unless a guard was killed.
func (t *test) guardsGone() error {
	err := t.gone(func(part string) bool { return part == victimGuard })
	if err != nil {
		return err
	}
	return t.putBack()
}

// nothingLeft waits until no process of the test is left.
func (t *test) nothingLeft() error { return t.gone(func(part string) bool { return part != "" }) }

// gone waits until there is no such process. Killed processes need a moment to end.
func (t *test) gone(such func(part string) bool) error {
	const tries, every = 1000, 30 * time.Millisecond
	var left []process
	for range tries {
		left = slices.DeleteFunc(processes(), func(p process) bool { return !such(t.part(p)) })
		if len(left) == 0 {
			return nil
		}
		sleep(every)
	}
	return fmt.Errorf("half a minute after the end of krund, %v still exists", left)
}

func (t *test) putBack() error {
	if t.before == "" || t.unguarded {
		return nil
	}
	text, err := os.ReadFile(setting)
	if now := strings.TrimSpace(string(text)); err == nil && now != t.before {
		return fmt.Errorf("%s is %q, but was %q", setting, now, t.before)
	}
	return err
}
