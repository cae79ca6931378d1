package rig

import (
	"fmt"
	"os"
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
