package probe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// The limits of a quiet machine. An idle server with the services of Debian stays a factor of ten
// below those of processor time, pressure and context switches.
const (
	quietBusy     = 0.05    // of one processor, all processors together
	quietSteal    = 0.01    // share of the time of one that a hypervisor took
	quietStalled  = 0.01    // share of the time in which a task waited (/proc/pressure, "some")
	quietSwitches = 1000    // context switches per second, and
	quietPerCPU   = 50      // as many more per processor
	quietDirty    = 1 << 20 // bytes of the page cache that are not on the disk yet
)

// quietNames is how many processes a busy window names.
const quietNames = 5

// A Quiet waits until the machine is quiet: systemd has no job, and for a whole window the
// processors, the disks and the scheduler had next to nothing to do and the page cache was written
// back.
type Quiet struct {
	Host   host.Host
	Clock  sysroot.Clock
	Window time.Duration
	Limit  time.Duration // upper bound of the wait; at least one window is observed
	// called with what the machine is busy with, before each further window; nil: not called
	Show func(busy []string)
}

// Wait observes one window after the other until one is quiet or Limit has passed. Its only error
// is that of ctx.
func (q Quiet) Wait(ctx context.Context) (results.Settle, error) {
	s := results.Settle{Busy: []string{}}
	began := q.Clock.Now()
	before := ReadActivity(q.Host, began, 0)
	for {
		if err := q.Clock.Sleep(ctx, q.Window); err != nil {
			return s, err
		}
		now := ReadActivity(q.Host, q.Clock.Now(), 0)
		waited := now.at.Sub(began)
		s.WaitedNS = waited.Nanoseconds()
		busy := append(jobsBusy(ctx, q.Host), now.notQuiet(before)...)
		if m, err := q.Host.ReadMeminfo(); err == nil && m["Dirty"]+m["Writeback"] > quietDirty {
			busy = append(busy, fmt.Sprintf("%d KiB of the page cache are not written yet",
				(m["Dirty"]+m["Writeback"])>>10))
		}
		if len(busy) == 0 {
			s.Quiet = true
			return s, nil
		}
		s.Busy = busy
		if waited+q.Window > q.Limit {
			return s, nil
		}
		if q.Show != nil {
			q.Show(busy)
		}
		before = now
	}
}

// notQuiet returns, as sentences, what was not quiet since before. What is unknown counts as quiet.
func (a Activity) notQuiet(before Activity) []string {
	seconds := max(a.at.Sub(before.at).Seconds(), 1e-3)
	var busy []string
	if a.stat != nil && before.stat != nil {
		var ticks uint64
		for cpu, t := range a.stat.CPUs {
			if was := before.stat.CPUs[cpu].Busy(); t.Busy() > was {
				ticks += t.Busy() - was
			}
		}
		if share := float64(ticks) / host.TicksPerSecond / seconds; share > quietBusy {
			busy = append(busy, fmt.Sprintf("the processors were busy for %.0f %% of the time of one: %s",
				share*100, a.busiest(before, seconds)))
		}
		_, steal := ticksSince(*before.stat, *a.stat)
		if share := time.Duration(steal).Seconds() / seconds; share > quietSteal {
			busy = append(busy, fmt.Sprintf("the hypervisor withheld a processor for %.0f %% of the time",
				100*share))
		}
		limit := quietSwitches + quietPerCPU*float64(len(a.stat.CPUs))
		if a.stat.Switches > before.stat.Switches {
			if rate := float64(a.stat.Switches-before.stat.Switches) / seconds; rate > limit {
				busy = append(busy, fmt.Sprintf("%.0f context switches per second, the limit is %.0f",
					rate, limit))
			}
		}
	}
	for _, resource := range host.Resources {
		was, known := before.pressure[resource]
		waited := a.pressure[resource].Total - was.Total
		if share := waited.Seconds() / seconds; known && share > quietStalled {
			busy = append(busy, fmt.Sprintf("tasks waited for %s during %.0f %% of the time", resource,
				share*100))
		}
	}
	return busy
}

// busiest names the processes that used the most processor time.
func (a Activity) busiest(before Activity, seconds float64) string {
	var names []string
	for _, p := range host.Busiest(before.processes, a.processes, quietNames) {
		if share := float64(p.Ticks) / host.TicksPerSecond / seconds; share >= 0.005 {
			names = append(names, fmt.Sprintf("%s (process %d) %.0f %%", p.Name, p.PID, share*100))
		}
	}
	if len(names) == 0 {
		return "no process that still runs"
	}
	return strings.Join(names, ", ")
}

// Jobs returns the units that systemd is starting or stopping, other than krund's own; none
// without systemd.
func Jobs(ctx context.Context, h host.Host) []string {
	if h.Commands == nil {
		return nil
	}
	out, err := h.Commands.Output(ctx, "systemctl", "list-jobs", "--full", "--no-legend", "--no-pager")
	if err != nil {
		return nil
	}
	return parseJobs(string(out))
}

// parseJobs reads the columns JOB UNIT TYPE STATE of systemctl(1). Jobs that wait for krund's own
// unit are left out: krund would wait for itself.
func parseJobs(text string) []string {
	var units []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 4 || strings.HasPrefix(fields[1], "krund") || fields[3] != "running" {
			continue
		}
		if _, err := strconv.ParseUint(fields[0], 10, 32); err == nil {
			units = append(units, display.PlainLine(fields[1]))
		}
	}
	slices.Sort(units)
	return units
}

func jobsBusy(ctx context.Context, h host.Host) []string {
	if units := Jobs(ctx, h); len(units) > 0 {
		return []string{"systemd is at work on " + strings.Join(units[:min(len(units), quietNames)], ", ")}
	}
	return nil
}

// jobsPause is the time between two looks at systemd's jobs.
const jobsPause = time.Second

// AwaitJobs waits until systemd has no job, at most as long as given. It returns the jobs that are
// left. It calls show once if it has to wait.
func AwaitJobs(ctx context.Context, h host.Host, clock sysroot.Clock, most time.Duration,
	show func(units []string)) []string {
	end := clock.Now().Add(most)
	for first := true; ; first = false {
		units := Jobs(ctx, h)
		if first && len(units) > 0 {
			show(units)
		}
		if len(units) == 0 || !clock.Now().Before(end) || clock.Sleep(ctx, jobsPause) != nil {
			return units
		}
	}
}
