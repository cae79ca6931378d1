package main

import (
	"fmt"
	"io"
	"time"

	"krund/internal/boot"
	"krund/internal/display"
	"krund/internal/results"
	"krund/internal/schedule"
)

// progress prints a line per process execution. On a terminal the line appears when the execution
// begins and is completed when it ends. Nothing is printed in between, because krund does nothing
// while a benchmark runs.
type progress struct {
	w        io.Writer
	terminal bool
	ran      int           // executions in this process
	spent    time.Duration // on them
}

// Begin shows what runs now, and the time left, estimated from the executions so far.
func (p *progress) Begin(slot schedule.Slot, n boot.Count) {
	if p.terminal {
		fmt.Fprintf(p.w, "%s  running  %s", place(slot, n.Slots), p.eta(n.Left))
	}
}

// End completes the line.
func (p *progress) End(slot schedule.Slot, n boot.Count, outcome results.Outcome, reasons []string,
	took time.Duration) {
	p.ran++
	p.spent += took
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "%s  %-9s %6.1f s  %s\n", place(slot, n.Slots), outcome, took.Seconds(), p.eta(n.Left))
	for _, reason := range reasons {
		fmt.Fprintf(p.w, "    %s\n", printable(reason))
	}
}

func place(slot schedule.Slot, slots int) string {
	digits := len(fmt.Sprint(slots))
	text := fmt.Sprintf("[%*d/%d] %s, execution %d", digits, slot.Index+1, slots, slot.Key, slot.Pexec)
	if slot.Attempts > 1 {
		text += fmt.Sprintf(", attempt %d", slot.Attempts)
	}
	return fmt.Sprintf("%-56s", text)
}

// eta returns the time left, from the mean of the executions so far.
func (p *progress) eta(left int) string {
	if p.ran == 0 || left <= 0 {
		return ""
	}
	return "left " + (p.spent / time.Duration(p.ran) * time.Duration(left)).Round(time.Second).String()
}

// messageBytes bounds one message, or a part of it: it may quote output of a benchmark of any
// length.
const messageBytes = 8 << 10

// printable bounds a text and replaces characters that control a terminal.
func printable(s string) string { return display.PlainLine(display.Clip(s, messageBytes)) }
