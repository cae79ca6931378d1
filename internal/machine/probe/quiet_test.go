package probe

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// busyMachine is a machine with two processors whose activity advances while krund sleeps.
type busyMachine struct {
	t        *testing.T
	dir      string
	now      time.Time
	windows  int                                   // slept
	each     func(window int) (percent, dirty int) // of one processor, kB; nil: none
	jobs     func(window int) string               // nil: none
	ticks    int
	switches int
}

func (b *busyMachine) Now() time.Time { return b.now }

func (b *busyMachine) Sleep(ctx context.Context, d time.Duration) error {
	b.windows++
	b.now = b.now.Add(d)
	percent, dirty := 1, 100
	if b.each != nil {
		percent, dirty = b.each(b.windows)
	}
	b.ticks += percent * int(d/time.Second)
	b.switches += 100 * int(d/time.Second)
	b.write(dirty)
	return ctx.Err()
}

func (b *busyMachine) write(dirty int) {
	for name, text := range map[string]string{
		"proc/stat":         fmt.Sprintf("cpu0 %d 0 0 5\ncpu1 0 0 0 5\nctxt %d\n", b.ticks, b.switches),
		"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/meminfo":      fmt.Sprintf("Dirty: %d kB\nWriteback: 0 kB\n", dirty),
		"proc/812/stat": fmt.Sprintf("812 (stress) R 1 812 812 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 3460\n",
			b.ticks),
	} {
		must.Write(b.t, filepath.Join(b.dir, name), text)
	}
}

func (b *busyMachine) Output(context.Context, string, ...string) ([]byte, error) {
	if b.jobs == nil {
		return nil, nil
	}
	return []byte(b.jobs(b.windows)), nil
}

func (b *busyMachine) quiet() Quiet {
	b.write(100)
	return Quiet{Host: host.Host{Root: sysroot.New(b.dir), Commands: b}, Clock: b, Window: 10 * time.Second,
		Limit: 3 * time.Minute}
}

func newBusy(t *testing.T) *busyMachine {
	return &busyMachine{t: t, dir: t.TempDir(), now: time.Unix(1_000_000, 0)}
}

func TestQuiet(t *testing.T) {
	for name, test := range map[string]struct {
		each   func(int) (int, int)
		jobs   func(int) string
		waited time.Duration
		quiet  bool
		busy   string // part of the only sentence
	}{
		"at once": {nil, nil, 10 * time.Second, true, ""},
		"a job in the background that ends": {func(w int) (int, int) { return max(0, 99-49*w), 0 }, nil,
			20 * time.Second, true, "busy for 50 % of the time of one: stress (process 812) 50 %"},
		"a job in the background that stays": {func(int) (int, int) { return 100, 0 }, nil,
			3 * time.Minute, false, "busy for 100 % of the time of one: stress (process 812) 100 %"},
		"a cache that is written": {func(w int) (int, int) { return 0, max(0, 4096-1024*w) }, nil,
			30 * time.Second, true, "2048 KiB of the page cache"},
		"a timer": {nil, func(w int) string {
			if w < 4 {
				return "812 systemd-tmpfiles-clean.service start running\n"
			}
			return "No jobs running.\n"
		}, 40 * time.Second, true, "systemd is at work on systemd-tmpfiles-clean.service"},
	} {
		b := newBusy(t)
		b.each, b.jobs = test.each, test.jobs
		s, err := b.quiet().Wait(t.Context())
		must.Be(t, err == nil && s.Quiet == test.quiet && s.WaitedNS == test.waited.Nanoseconds(), name,
			s, err, test.waited,
			test.quiet)
		must.Be(t, test.busy == "" || len(s.Busy) == 1 && strings.Contains(s.Busy[0], test.busy), name,
			"busy", s.Busy, "want", test.busy)
	}
}

// TestQuietSteal: a host that takes the processor for other machines is not quiet.
func TestQuietSteal(t *testing.T) {
	at := func(second int64, steal uint64) Activity {
		return Activity{at: time.Unix(second, 0),
			stat: &host.Stat{CPUs: map[int]host.Ticks{0: {Steal: steal}}}}
	}
	got := at(10, 20).notQuiet(at(0, 0))
	must.Be(t, len(got) == 1 && strings.Contains(got[0], "withheld a processor for 2 %"), got)
	must.Equal(t, len(at(10, 5).notQuiet(at(0, 0))), 0, "half a percent")
}

// TestQuietIsInterrupted: the only error is the end of the context.
func TestQuietIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newBusy(t).quiet().Wait(ctx)
	must.Fail(t, err, context.Canceled)
}

// TestBlindQuiet: a system without these files has nothing to wait for.
func TestBlindQuiet(t *testing.T) {
	b := newBusy(t)
	q := Quiet{Host: host.Host{Root: sysroot.New(t.TempDir())}, Clock: b, Window: time.Second, Limit: 0}
	s, err := q.Wait(t.Context())
	must.Be(t, err == nil && s.Quiet && s.WaitedNS == 1e9, s, err)
}

func TestAwaitJobs(t *testing.T) {
	b := newBusy(t)
	b.jobs = func(w int) string { return map[bool]string{true: "7 a.service start running\n"}[w < 3] }
	shown := 0
	show := func([]string) { shown++ }
	left := AwaitJobs(t.Context(), b.quiet().Host, b, time.Minute, show)
	must.Be(t, len(left) == 0 && b.windows == 3 && shown == 1, "left", left, "after", b.windows,
		"seconds, want none after 3")
	b.jobs = func(int) string { return "7 a.service start running\n" }
	left = AwaitJobs(t.Context(), b.quiet().Host, b, time.Minute, show)
	must.Be(t, slices.Equal(left, []string{"a.service"}) && b.windows == 63, "left", left, "after", b.windows,
		"seconds, want a.service after 63")
}

// The output of systemctl list-jobs of systemd 252.
const jobsText = `  1 multi-user.target            start waiting
 95 krund@warmup.service         start running
130 systemd-tmpfiles-clean.service start running
  7 apt-daily.service            start running
`

func TestParseJobs(t *testing.T) {
	want := []string{"apt-daily.service", "systemd-tmpfiles-clean.service"}
	must.EqualList(t, parseJobs(jobsText), want)
	got := parseJobs("No jobs running.\n")
	must.Equal(t, len(got), 0, got, "of none")
}

func FuzzJobs(f *testing.F) {
	f.Add(jobsText)
	f.Fuzz(func(t *testing.T, text string) {
		for _, unit := range parseJobs(text) {
			must.Be(t, !strings.ContainsAny(unit, "\x1b\n"), unit, text)
		}
	})
}
