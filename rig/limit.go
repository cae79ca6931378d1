package rig

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The limit of a wait depends on three things:
//
//   - Options.Limit, or defaultLimit: on the reference host only a hang reaches it;
//   - the speed of this host: run.sh first boots one machine and measures it (KRUND_RIG_PACE).
//     Users may add their own factor (KRUND_RIG_PATIENCE);
//   - when the whole run must be over (KRUND_RIG_DEADLINE), if it is bounded.

// referenceBoot is the time from power-on to the first command on the reference host, which has two
// idle processors.
const referenceBoot = 2500 * time.Millisecond

// defaultLimit returns the longest wait for a single event on the reference host.
func defaultLimit() time.Duration {
	if testing.Short() {
		return time.Minute // the run has a few minutes for everything
	}
	return 4 * time.Minute
}

// usualTime is the duration of a test of the short selection on the reference host with another
// machine running, unless Options.Time is larger.
const usualTime = 55 * time.Second

// spareTime is a reserve for a host that slows down during a test.
const spareTime = 30 * time.Second

// positive returns the positive number in an environment variable, or 1.
func positive(name string) float64 {
	factor, err := strconv.ParseFloat(os.Getenv(name), 64)
	if err != nil || !(factor > 0) {
		return 1
	}
	return factor
}

// Scaled returns the time that something may take on this host if it takes d on the reference host.
func Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, positive(envPace)) * positive(envPatience))
}

// timeLeft returns the time until the run must be over. An unbounded run has no deadline.
func timeLeft() (left time.Duration, bounded bool) {
	seconds, err := strconv.ParseInt(os.Getenv(envDeadline), 10, 64)
	if err != nil {
		return 0, false
	}
	return time.Unix(seconds, 0).Sub(now()), true
}

// Long skips a test that is not in the short selection, and says why.
func Long(tb testing.TB, why string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip(why)
	}
}

// Calibrate boots one machine, logs how fast this host emulates it, and writes the boot time
// relative to the reference host to the file "pace" in the directory of the consoles. run.sh passes
// it to all suites.
func Calibrate(tb testing.TB) {
	tb.Helper()
	if pace := os.Getenv(envPace); pace != "" {
		tb.Skipf("measured already: %s=%s", envPace, pace)
	}
	m := New(tb, Options{})
	begin := now()
	m.PowerOn()
	m.WaitUp()
	boot := now().Sub(begin)
	m.WaitRunning()
	const commands = 10
	begin = now()
	for range commands {
		m.Sh("true")
	}
	command := now().Sub(begin) / commands
	// The first line of /proc/stat: user, nice, system and idle time of all processors.
	busy := m.Sh(`read -r _ u n s i _ </proc/stat; sleep 3; read -r _ U N S I _ </proc/stat
		b=$((U + N + S - u - n - s)); echo $((100 * b / (b + I - i)))`)
	pace := boot.Seconds() / referenceBoot.Seconds()
	tb.Logf("rig: %.1f s from power to the first command, %.2f times the reference; %d ms for a command; "+
		"an idle machine is %s %% busy", boot.Seconds(), pace, command.Milliseconds(), busy)
	if dir := os.Getenv(envLogs); dir != "" {
		m.check(os.WriteFile(filepath.Join(dir, "pace"), fmt.Appendf(nil, "%.2f\n", pace), 0o644))
	}
}

// skipWithoutTime skips a test that could not end before the run must be over. run.sh lists these
// tests.
func skipWithoutTime(tb testing.TB, takes time.Duration) {
	tb.Helper()
	left, bounded := timeLeft()
	if need := Scaled(takes) + spareTime; bounded && left < need {
		summarize(tb, summaryRow{name: tb.Name(), result: "no time", seed: Seed(tb)})
		tb.Skipf("no time: this host may need %v for it, and the run must be over in %v",
			need.Round(time.Second), left.Round(time.Second))
	}
}

// errNoTime ends a wait that had less than its own limit because the whole run must be over. A
// machine that hangs and a host that is busy look the same then, so the test is skipped and listed.
var errNoTime = errors.New("the time for the whole run is over")

// limit returns the context of one wait and its cancel function. what names the wait in the
// summary.
func (m *Machine) limit(what string) (context.Context, context.CancelFunc) {
	limit := Scaled(m.options.Limit)
	cause := fmt.Errorf("no progress for %v; on a slow host set %s=3", limit, envPatience)
	if left, bounded := timeLeft(); bounded && left < limit {
		limit = max(left, time.Second)
		cause = fmt.Errorf("no progress for %v, and %w", limit.Round(time.Second), errNoTime)
	}
	begin := now()
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, cause)
	return ctx, func() {
		cancel()
		m.figures.waited(what, now().Sub(begin))
	}
}

// commandLimit returns how long the guest lets a command run, in whole seconds: less than the host
// waits for the result. A command that exceeds it fails with over.
func (m *Machine) commandLimit() (limit time.Duration, over error) {
	limit, over = Scaled(m.options.Limit), errStillRunning
	if left, bounded := timeLeft(); bounded && left < limit {
		limit, over = left, fmt.Errorf("%w, and %w", errStillRunning, errNoTime)
	}
	return max((limit * 9 / 10).Truncate(time.Second), time.Second), over
}

var errStillRunning = errors.New("still running")

// shorten returns the first line of a text, at most 60 bytes of it, without tabs.
func shorten(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ReplaceAll(strings.ToValidUTF8(line[:min(len(line), 60)], ""), "\t", " ")
}

// now is the only place where the rig reads the host's clock, for reported figures and for
// deadlines. No test depends on it.
func now() time.Time { return time.Now() }

// Seed returns the seed of all random choices of this campaign: KRUND_RIG_SEED, or 1.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	text := os.Getenv(envSeed)
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		tb.Fatalf("%s=%s: not a number from 0 on", envSeed, text)
	}
	return seed
}

// Rand returns the test's own source of random numbers. It depends only on the seed and the test's
// name, so a test makes the same choices alone and in a campaign.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := Seed(tb)
	name := fnv.New64a()
	_, _ = name.Write([]byte(tb.Name())) // never fails
	tb.Logf("seed %d; again: %s=%d", seed, envSeed, seed)
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// Cuts returns the number of power cuts of a campaign: KRUND_RIG_CUTS, or normally.
func Cuts(tb testing.TB, normally int) int {
	tb.Helper()
	text := os.Getenv(envCuts)
	if text == "" {
		return normally
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("%s=%s: not a number from 1 on", envCuts, text)
	}
	return n
}
