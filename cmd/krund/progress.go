package main

import (
	"fmt"
	"strings"
	"time"

	"krund/internal/boot"
	"krund/internal/display"
	"krund/internal/execution/watcher"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// progress prints a line per process execution. On a terminal a further line names the present
// step and the time left. It stands still while a benchmark runs, because krund does nothing then.
type progress struct {
	screen *screen
	quiet  bool
	ran    int           // executions in this process
	spent  time.Duration // on them

	slot  schedule.Slot // the present one
	count boot.Count
	begun bool
}

// Begin notes which execution the next steps belong to.
func (p *progress) Begin(slot schedule.Slot, n boot.Count) {
	p.slot, p.count, p.begun = slot, n, true
	p.Step("preparing", 0)
}

// Step shows a step, and how much of the time that it takes at most has passed.
func (p *progress) Step(name string, most time.Duration) {
	if p.quiet {
		return
	}
	number, execution, left := "", "", ""
	if p.begun {
		number, execution = p.place()
		left = p.eta(p.count.Left)
	}
	p.screen.show(name != boot.Running, func(passed time.Duration) string {
		text := name
		if most >= time.Second {
			text += fmt.Sprintf(" %s of %s", display.Duration(min(passed, most).Truncate(time.Second)),
				display.Duration(most))
		}
		if left != "" {
			text += ", " + left
		}
		if number == "" {
			return text
		}
		return number + shortened(execution, p.screen.width()-1-len(number)-len("  ")-len(text)) + "  " + text
	})
}

// around returns the line of the running execution without the number of iterations, which another
// process adds (package watcher).
func (p *progress) around(iterations int) watcher.Line {
	number, execution := p.place()
	l := watcher.Line{Before: "  " + boot.Running, After: p.eta(p.count.Left), Width: p.screen.width(),
		Dim: p.screen.color}
	if l.After != "" {
		l.After = ", " + l.After
	}
	rest := len(number) + len(l.Before) + watcher.CountWidth(iterations) + len(l.After)
	l.Before = number + shortened(execution, l.Width-1-rest) + l.Before
	return l
}

// shortened returns a name in at most this many columns, without its start, which is the least
// specific part.
func shortened(name string, most int) string {
	const gap = "..."
	runes := []rune(name)
	switch {
	case len(runes) <= most:
		return name
	case most <= len(gap):
		return ""
	}
	return gap + string(runes[len(runes)-most+len(gap):])
}

// End prints the line of an execution.
func (p *progress) End(slot schedule.Slot, n boot.Count, outcome results.Outcome, reasons []string,
	took time.Duration) {
	p.ran++
	p.spent += took
	if p.quiet {
		return
	}
	p.slot, p.count = slot, n
	place, name := p.place()
	colors := map[results.Outcome]string{results.Completed: green, results.Rerun: yellow, results.Error: red,
		results.Timeout: red}
	rest := fmt.Sprintf("%6.1f s  %s", took.Seconds(), p.eta(n.Left))
	const outcomeWidth = 9
	width := p.screen.columns()
	if width > 0 {
		name = shortened(name, width-len(place)-len("  ")-outcomeWidth-len(" ")-len(rest))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-46s  %s %s\n", place+name,
		p.screen.paint(colors[outcome], fmt.Sprintf("%-*s", outcomeWidth, outcome)), rest)
	for _, reason := range reasons {
		fmt.Fprintf(&b, "%s\n", display.Wrap("    "+printable(reason), width, "    "))
	}
	p.screen.clear()
	p.screen.print(b.String())
}

// place returns the number of the slot and the name of the execution.
func (p *progress) place() (number, name string) {
	digits := len(fmt.Sprint(p.count.Slots))
	number = fmt.Sprintf("[%*d/%d] ", digits, p.slot.Index+1, p.count.Slots)
	name = fmt.Sprintf("%s, execution %d", p.slot.Key, p.slot.Pexec)
	if p.slot.Attempts > 1 {
		name += fmt.Sprintf(", attempt %d", p.slot.Attempts)
	}
	return number, name
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
