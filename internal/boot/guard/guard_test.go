package guard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"krund/rig/must"
)

// Subjects (Options.About) that make the guard of a test fail.
const (
	dies    = "dies at once"
	babbles = "babbles"
)

// TestMain makes the test binary act as krund and as its guard. restore prints a line on standard
// error.
func TestMain(m *testing.M) {
	if part, o, ok := parse(os.Args); ok && part == second {
		switch o.About[0] {
		case dies:
			os.Exit(1)
		case babbles:
			_, _ = io.WriteString(os.Stdout, "hello\n")
		}
	}
	Stage(func(about []string, expected bool) error {
		word := "restore "
		if expected {
			word = "as expected, restore "
		}
		_, err := io.WriteString(os.Stderr, word+strings.Join(about, " ")+"\n")
		return err
	})
	if os.Getenv("KRUND_TEST_PART") == "krund" {
		os.Exit(actAsKrund())
	}
	// or each of the processes would take a second to end
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestGuardKeepsTheLock: a lock that krund held is free only after the guard has ended.
func TestGuardKeepsTheLock(t *testing.T) {
	lock := must.Get(os.Create(filepath.Join(t.TempDir(), "lock")))(t)
	must.Do(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	other := must.Get(os.Open(lock.Name()))(t)
	defer other.Close()
	g := must.Get(Start(t.Context(), Options{About: []string{"/x/test.krun"}, Lock: lock}))(t)
	must.Do(t, lock.Close())
	must.Fail(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK,
		"the lock while the guard runs", "want that it is held")
	must.Do(t, g.Dismiss())
	must.Do(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB),
		"the lock after the guard has ended")
}

// actAsKrund starts a guard, prints a line, and waits to be killed.
func actAsKrund() int {
	g, err := Start(context.Background(), Options{About: []string{"/x/test.krun"}, Log: os.Stderr})
	if err != nil {
		return 1
	}
	_, _ = io.WriteString(os.Stdout, "guarded\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = g.Dismiss()
	return 0
}

// TestGuardOutlivesKrund: krund is killed without warning, with all of its process group, after
// signals that ask it to end: its guard restores the machine.
func TestGuardOutlivesKrund(t *testing.T) {
	stdin, hold := must.Get2(os.Pipe())(t)
	t.Cleanup(func() { _ = hold.Close() })
	log, says := must.Get2(os.Pipe())(t)
	krund := exec.CommandContext(t.Context(), os.Args[0])
	krund.Env = append(os.Environ(), "KRUND_TEST_PART=krund", "GOCOVERDIR="+t.TempDir())
	krund.Stdin, krund.Stderr = stdin, says
	krund.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := must.Get(krund.StdoutPipe())(t)
	must.Do(t, krund.Start())
	must.Do(t, errors.Join(says.Close(), stdin.Close()))
	said := make([]byte, len("guarded\n"))
	_, err := io.ReadFull(out, said)
	must.Need(t, err == nil && string(said) == "guarded\n", "krund said", said, err)
	must.Do(t, syscall.Kill(-krund.Process.Pid, syscall.SIGKILL))
	_ = krund.Wait() // it was killed: that is the expected error
	rest, err := io.ReadAll(log)
	must.Be(t, err == nil && string(rest) == "restore /x/test.krun\n", "after the kill", rest, err)
}

func TestReleased(t *testing.T) {
	log, says := must.Get2(os.Pipe())(t)
	g := must.Get(Start(t.Context(), Options{About: []string{"/x/test.krun"}, Log: says}))(t)
	must.Do(t, errors.Join(says.Close(), g.Dismiss()))
	said, err := io.ReadAll(log)
	must.Be(t, err == nil && len(said) == 0, "a dismissed guard said", said, err)
	must.Refuse(t, g.Dismiss(), "", "no error although the guard is gone")
}

func TestLeft(t *testing.T) {
	log, says := must.Get2(os.Pipe())(t)
	g := must.Get(Start(t.Context(), Options{About: []string{"/x/test.krun"}, Log: says}))(t)
	must.Do(t, errors.Join(says.Close(), g.HandOver()))
	if said, err := io.ReadAll(log); err != nil || string(said) != "restore /x/test.krun\n" {
		t.Errorf("a guard after HandOver said %q, %v", said, err)
	}
}

// TestRestarting: the guard restores the machine in case the restart does not happen, and knows
// that krund was not killed.
func TestRestarting(t *testing.T) {
	log, says := must.Get2(os.Pipe())(t)
	g := must.Get(Start(t.Context(), Options{About: []string{"/x/test.krun"}, Log: says}))(t)
	must.Do(t, errors.Join(says.Close(), g.AnnounceRestart()))
	if said, err := io.ReadAll(log); err != nil || string(said) != "as expected, restore /x/test.krun\n" {
		t.Errorf("the guard said %q, %v", said, err)
	}
	must.Refuse(t, g.AnnounceRestart(), "", "no error although the guard is gone")
}

func TestGuardThatDoesNotStart(t *testing.T) {
	for subject, want := range map[string]string{dies: "ended immediately", babbles: `message "hello`} {
		must.Refused(Start(t.Context(), Options{About: []string{subject}}))(t, want, "a guard that", subject)
	}
}

func TestWatch(t *testing.T) {
	failed := errors.New("half restored")
	tests := []struct {
		name              string
		said              io.Reader
		restore, expected bool
	}{
		{"done", strings.NewReader("done\n"), false, false},
		{"restarting", strings.NewReader("restarting\n"), true, true},
		{"dead", strings.NewReader(""), true, false},
		{"dead in the middle of the word", strings.NewReader("done"), true, false},
		{"dead in the middle of the other word", strings.NewReader("restarting"), true, false},
		{"another word", strings.NewReader("until 7\n"), true, false},
		{"broken pipe", iotest.ErrReader(errors.New("no such device")), true, false},
	}
	for _, tt := range tests {
		called, expected := false, false
		err := watch(tt.said, io.Discard, func(e bool) error { called, expected = true, e; return failed })
		must.Be(t, called == tt.restore && expected == tt.expected && errors.Is(err, failed) == tt.restore,
			tt.name, "restored", called, err)
	}
	if err := watch(strings.NewReader(""), brokenWriter{}, func(bool) error {
		t.Error("restored what was not changed")
		return nil
	}); err == nil {
		t.Error("no error although krund does not read the pipe")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "SECRET=1", "GOGC=1", "HOME=/root", "broken"})
	want := []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "GOMAXPROCS=1", "GOGC=off"}
	must.Be(t, slices.Equal(got, want), got, "want", want)
}

func TestArguments(t *testing.T) {
	for _, o := range []Options{{}, {About: []string{"/x/a b,c.krun", ""}},
		{About: []string{"/x"}, CPUs: []int{0}}, {CPUs: []int{0, 2, 17}}, {hasLock: true}} {
		for _, want := range []string{first, second} {
			part, got, ok := parse(arguments(want, o))
			must.Be(t, ok && part == want && slices.Equal(got.About, o.About) &&
				slices.Equal(got.CPUs, o.CPUs) && got.hasLock == o.hasLock, o, part, got, ok)
		}
	}
	for _, args := range [][]string{nil, {"krund", "run", "x", ""}, {name, "x", "", "z"}, {name, first},
		{name, first, "a", "", "/x"}, {name, second, "-1", "", "/x"}} {
		_, _, ok := parse(args)
		must.Be(t, !ok, args, "starts a guard")
	}
}

// FuzzArguments: a command line that is parsed as a guard's survives a round trip.
func FuzzArguments(f *testing.F) {
	f.Add(name, first, "0,2", "", "/x/test.krun")
	f.Add(name, second, "", inherited, "")
	f.Fuzz(func(t *testing.T, a, b, c, d, e string) {
		part, o, ok := parse([]string{a, b, c, d, e})
		if !ok {
			return
		}
		again, p, ok := parse(arguments(part, o))
		must.Be(t, ok && again == part && slices.Equal(p.About, o.About) && slices.Equal(p.CPUs, o.CPUs), a,
			b, c, d, e, o, "then", p)
	})
}

// babbler is the other end of a pipe that sends a message without end. It counts what is read.
type babbler struct{ read int }

func (b *babbler) Read(p []byte) (int, error) {
	const enough = 1 << 20
	if b.read > enough {
		return 0, errors.New("read more than the longest message")
	}
	for i := range p {
		p[i] = 'x'
	}
	b.read += len(p)
	return len(p), nil
}

// TestMessagesAreBounded: neither side reads more than the longest message.
func TestMessagesAreBounded(t *testing.T) {
	var krund, guard babbler
	put := 0
	err := watch(&krund, io.Discard, func(expected bool) error {
		must.Be(t, !expected, "accepts any message as one of krund's")
		put++
		return nil
	})
	must.Be(t, err == nil && put == 1 && krund.read <= 1<<16, "the guard", err, "restored", put,
		"times, read", krund.read, "bytes")
	if err := hear(&guard); err == nil || len(err.Error()) > 1000 || guard.read > 1<<16 {
		t.Errorf("krund: read %d bytes, error %.200v", guard.read, err)
	}
}

// FuzzProtocol: the guard restores the machine unless krund has said "done", and krund continues
// only after "ready".
func FuzzProtocol(f *testing.F) {
	for _, word := range []string{
		"", done, done + "\n", restarting + "\n", ready + "\n", done + "\nmore", "\n", "\x00\xff\n",
	} {
		f.Add([]byte(word))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		var says strings.Builder
		put, announced := 0, false
		err := watch(bytes.NewReader(said), &says, func(expected bool) error {
			put++
			announced = expected
			return nil
		})
		isDone := bytes.HasPrefix(said, []byte(done+"\n"))
		isRestarting := bytes.HasPrefix(said, []byte(restarting+"\n"))
		must.Be(t, err == nil && says.String() == ready+"\n" && put == 1 != isDone &&
			announced == isRestarting, "krund said", said, "restored", put, "times, announced", announced,
			"said", &says, err)
		err = hear(bytes.NewReader(said))
		must.Equal(t, (err == nil), bytes.HasPrefix(said, []byte(ready+"\n")), "the guard said", said, err)
	})
}
