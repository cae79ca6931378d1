package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Campaign accumulates the costs and results of many experiments with power cuts, for the log. It
// is safe for concurrent use.
type Campaign struct {
	mu    sync.Mutex
	began time.Time

	experiments, boots int
	random, exact      int // number of cuts
	completed          int // valid results of all experiments at their ends
	cpu                time.Duration
	harms              [Wrong + 1]int
	phases             []phase
	kernel             string
	seed               uint64
}

// phase is a kind of boot with a known number of steps, and the steps that were cut.
type phase struct {
	name  string
	steps int
	cut   map[int]bool
}

// NewCampaign starts a campaign.
func NewCampaign(tb testing.TB) *Campaign {
	tb.Helper()
	c := &Campaign{began: now(), seed: Seed(tb), kernel: "unknown"}
	if kernel, err := FindImage(tb).KernelVersion(); err == nil {
		c.kernel = kernel
	}
	return c
}

// Phase records the number of durable steps of a kind of boot; 0 means that their number varies.
func (c *Campaign) Phase(name string, steps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phases = append(c.phases, phase{name: name, steps: steps, cut: map[int]bool{}})
}

// RandomCut counts a power cut at a random moment.
func (c *Campaign) RandomCut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.random++
}

// ExactCut counts a power cut just before a step, from 1, of a phase. For an unknown phase it only
// counts the cut.
func (c *Campaign) ExactCut(name string, step int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exact++
	for _, p := range c.phases {
		if p.name == name {
			p.cut[step] = true
		}
	}
}

// Harm counts a violation.
func (c *Campaign) Harm(h Harm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.harms[h.Kind]++
}

// Ended counts an experiment, however it ended: the boots of its machine, and its results at the
// end.
func (c *Campaign) Ended(m *Machine, completed int) {
	if !m.On() {
		m.collect()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.experiments++
	c.completed += completed
	c.boots += m.figures.boots
	c.cpu += m.figures.cpu
}

// Markdown returns the campaign's log as a table.
func (c *Campaign) Markdown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	row := func(what string, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	wall := now().Sub(c.began)
	row("suite", "power cuts (`rig/lifecycle`), seed %d", c.seed)
	row("---", "---")
	row("date, guest kernel", "%s, %s", c.began.UTC().Format(time.DateOnly), c.kernel)
	row("experiments", "%d", c.experiments)
	row("boots", "%d", c.boots)
	row("power cuts", "%d: %d at random moments, %d at exact steps", c.random+c.exact, c.random, c.exact)
	for _, p := range c.phases {
		if p.steps > 0 {
			row("steps cut, "+p.name, "%d of %d", len(p.cut), p.steps)
		} else {
			row("steps cut, "+p.name, "%d", len(p.cut))
		}
	}
	row("wall time", "%s on %s processors; %s of processor time", wall.Round(time.Second),
		fmt.Sprint(runtime.GOMAXPROCS(0)), c.cpu.Round(time.Second))
	row("completed results at the ends", "%d", c.completed)
	row("**completed results lost**", "**%d**", c.harms[Lost])
	row("**results counted twice**", "**%d**", c.harms[Twice])
	row("**schedules or records that could not be read**", "**%d**", c.harms[Unreadable])
	row("**experiments that did not end**", "**%d**", c.harms[Endless])
	row("**anything else amiss**", "**%d**", c.harms[Wrong])
	return b.String()
}

// Log prints the campaign to the test's log, and writes campaign.md to the directory of the
// consoles.
func (c *Campaign) Log(tb testing.TB) {
	tb.Helper()
	if c.experiments == 0 {
		return // the run had no time for a cut
	}
	text := c.Markdown()
	tb.Logf("the campaign:\n%s", text)
	if dir := os.Getenv(envLogs); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "campaign.md"), []byte(text), 0o644); err != nil {
			tb.Error(err)
		}
	}
}

// figures are the costs of a machine.
type figures struct {
	boots, cuts int
	cpu         time.Duration
	started     time.Time
	longest     time.Duration // longest of all waits
	longestFor  string
	noTime      bool // the run was over before the test
}

func (f *figures) begin(testing.TB) { f.started = now() }

// waited records a finished wait.
func (f *figures) waited(what string, d time.Duration) {
	if d > f.longest {
		f.longest, f.longestFor = d, shorten(what)
	}
}

// summaryRow is a line of the summary file.
type summaryRow struct {
	name, result string // the result is ok, FAILED, skipped, or "no time"
	seed         uint64
	figures      figures
	wall         time.Duration
}

// String returns the row with its line end: test, result, seed, boots, cuts, wall seconds,
// processor seconds, seconds of the longest wait and its purpose; separated by tabs.
func (r summaryRow) String() string {
	f := r.figures
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%s\n", r.name, r.result, r.seed, f.boots,
		f.cuts,
		r.wall.Seconds(), f.cpu.Seconds(), f.longest.Seconds(), f.longestFor)
}

// end reports the figures in the test's log and in the summary file, if there is one.
func (f *figures) end(tb testing.TB) {
	row := summaryRow{name: tb.Name(), result: "ok", seed: Seed(tb), figures: *f, wall: now().Sub(f.started)}
	switch {
	case tb.Failed():
		row.result = "FAILED"
	case f.noTime:
		row.result = "no time"
	case tb.Skipped():
		row.result = "skipped"
	}
	tb.Logf("rig: %d starts, %d power cuts, %.1f s, %.1f s of processor time; longest wait %.1f s, for %s",
		f.boots, f.cuts, row.wall.Seconds(), f.cpu.Seconds(), f.longest.Seconds(), f.longestFor)
	summarize(tb, row)
}

// summarize adds a row to the summary file, if there is one.
func summarize(tb testing.TB, row summaryRow) {
	name := os.Getenv(envSummary)
	if name == "" {
		return
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Errorf("write the summary: %v", err)
		return
	}
	_, err = out.WriteString(row.String())
	if err2 := out.Close(); err != nil || err2 != nil {
		tb.Errorf("write the summary: %v %v", err, err2)
	}
}

// explainLimit bounds how long a failed machine may take to print its journal.
const explainLimit = time.Minute

// explain logs what is known when a test has failed: the journal of a running machine, and then,
// from the disk, the log of each experiment. With KRUND_RIG_LOGS it keeps the experiment
// directories there. It never fails the test.
func (m *Machine) explain() {
	if !m.tb.Failed() {
		return
	}
	if m.On() {
		ctx, cancel := context.WithTimeout(context.Background(), explainLimit)
		r, err := m.power.agent.run(ctx, explainLimit/2, "journalctl -b --no-pager -o short-monotonic "+
			"-u 'krund@*' -n 200; systemctl list-jobs --no-pager; sync")
		cancel()
		m.tb.Logf("the journal of this boot (%v):\n%s", err, r.Output)
		m.PowerCut()
	}
	if m.power == nil {
		return
	}
	if err := m.explainDisk(); err != nil {
		m.tb.Logf("read the disk of the failed machine: %v", err)
	}
}

func (m *Machine) explainDisk() error {
	dir, err := os.MkdirTemp("", "krund-rig")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	disk, err := m.copyOfDisk(dir)
	if err != nil {
		return err
	}
	entries, err := disk.List(ExperimentHome)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a machine without krund
	}
	if err != nil {
		return err
	}
	keep := os.Getenv(envLogs)
	var errs []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name, ".krun") {
			continue
		}
		directory := path.Join(ExperimentHome, e.Name)
		log, err := disk.Read(path.Join(directory, "log"))
		m.tb.Logf("the log of %s (%v):\n%s", directory, err, log)
		if keep == "" {
			continue
		}
		to := filepath.Join(keep, m.logName()+".disk")
		if err := os.MkdirAll(to, 0o755); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := disk.request("rdump", directory, to); err != nil {
			errs = append(errs, fmt.Errorf("keep %s: %w", directory, err))
		}
	}
	return errors.Join(errs...)
}
