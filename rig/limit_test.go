package rig

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
)

func TestLimitsFollowTheHost(t *testing.T) {
	for _, c := range []struct {
		pace, patience string
		want           time.Duration
	}{
		{"", "", time.Minute}, {"2.5", "", 150 * time.Second}, {"0.4", "", time.Minute},
		{"", "3", 3 * time.Minute}, {"2", "3", 6 * time.Minute}, {"", "0.5", 30 * time.Second},
		{"0", "-1", time.Minute}, {"NaN", "long", time.Minute},
	} {
		t.Setenv(envPace, c.pace)
		t.Setenv(envPatience, c.patience)
		must.Equal(t, Scaled(time.Minute), c.want, envPace, c.pace, envPatience, c.patience)
	}
}

func TestWithoutTimeATestIsSkippedAndListed(t *testing.T) {
	useStandIn(t)
	summary := filepath.Join(t.TempDir(), "summary")
	t.Setenv(envSummary, summary)
	t.Setenv(envPace, "2")
	for _, c := range []struct {
		name    string
		left    time.Duration
		skipped bool
	}{{"enough", 2*usualTime + time.Minute, false}, {"too little", 2 * usualTime, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(envDeadline, strconv.FormatInt(now().Add(c.left).Unix(), 10))
			t.Cleanup(func() {
				must.Equal(t, t.Skipped(), c.skipped, "skipped")
			})
			New(t, Options{})
		})
	}
	text, err := os.ReadFile(summary)
	lines := strings.Split(string(text), "\n")
	must.Be(t, err == nil && len(lines) == 3 && strings.Contains(lines[0], "/enough\tok\t") &&
		strings.Contains(lines[1], "/too_little\tno time\t"), "summary", text, err)
}

// TestWaitsEndWithTheWholeRun: such a test is skipped and listed. It fails if it had failed before.
func TestWaitsEndWithTheWholeRun(t *testing.T) {
	useStandIn(t)
	summary := filepath.Join(t.TempDir(), "summary")
	t.Setenv(envSummary, summary)
	for name, wait := range map[string]func(*Machine){
		"a line":    func(m *Machine) { m.WaitConsole("^never$") },
		"a command": func(m *Machine) { m.Sh("hang") },
	} {
		t.Run(name, func(t *testing.T) {
			m := Boot(t, Options{})
			t.Cleanup(func() {
				must.Be(t, t.Skipped() && !t.Failed(), "skipped", t.Skipped(), "failed", t.Failed())
			})
			t.Setenv(envDeadline, strconv.FormatInt(now().Unix()-1, 10))
			wait(m)
			t.Error("the wait has ended")
		})
	}
	text, err := os.ReadFile(summary)
	must.Be(t, err == nil && strings.Count(string(text), "\tno time\t") == 2, "summary", text, err)
}

func TestAwaitSaysWhatItSaw(t *testing.T) {
	useStandIn(t)
	m := Boot(t, Options{})
	m.options.Limit = 50 * time.Millisecond
	got := failure(t, func(tb testing.TB) {
		m.For(tb).Await("it is cold", func() (string, bool) { return "30 C", false })
	})
	for _, want := range []string{"wait until it is cold", "no progress for 50ms", "last seen: 30 C"} {
		must.Contain(t, got, want, "failed with", "in it")
	}
	m.Send("end guest-reset")
	m.options.Limit = time.Minute
	got = failure(t, func(tb testing.TB) {
		m.For(tb).Await("it is cold", func() (string, bool) { return "30 C", false })
	})
	must.Contain(t, got, "the machine went off; last seen: 30 C", "failed with")
}

// TestACommandThatDoesNotEnd: the stand-in answers like timeout(1) in the guest.
func TestACommandThatDoesNotEnd(t *testing.T) {
	useStandIn(t)
	m := Boot(t, Options{})
	m.options.Limit = 3 * time.Second
	got := failure(t, func(tb testing.TB) { m.For(tb).Sh("hang") })
	must.Contain(t, got, "hang: still running after 2s; output so far: half", "failed with")
	out, status := m.Try("status 124")
	must.Be(t, status == 124 && out == "", "a command whose own status is 124", string(out), status)
}

// TestTheGuestKillsACommandThatDoesNotEnd uses one start of a complete machine: afterwards it
// accepts commands as before, so that a failing test can read the journal.
func TestTheGuestKillsACommandThatDoesNotEnd(t *testing.T) {
	m := Boot(t, Options{Time: 20 * time.Second})
	m.WaitRunning()
	begin := now()
	m.Sh("true")
	m.options.Limit = max(5*time.Second, 20*now().Sub(begin)) // this host may be busy just now
	for _, hang := range []string{"echo half; sleep infinity",
		"echo half; until [ -e /none ]; do sleep 0.05; done"} {
		got := failure(t, func(tb testing.TB) { m.For(tb).Sh(hang) })
		must.Be(t, strings.Contains(got, "still running after") &&
			strings.Contains(got, "output so far: half"), hang, "failed with", got)
		left, _ := m.Try("pgrep -x sleep")
		must.Equal(t, left, "", hang, "still there")
	}
}
