package control

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary play krund and its guard.
func TestMain(m *testing.M) {
	switch os.Getenv("KRUND_TEST_PART") {
	case "guard":
		err := Watch(os.Stdin, time.After, func() error {
			_, err := io.WriteString(os.Stdout, "restored\n")
			return err
		})
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "krund":
		if _, err := startTestGuard(os.Stdout); err != nil {
			os.Exit(1)
		}
		// Say that the guard stands, then wait to be killed.
		if _, err := io.WriteString(os.Stdout, "guarded\n"); err != nil {
			os.Exit(1)
		}
		<-time.After(time.Hour)
	}
	os.Exit(m.Run())
}

// startTestGuard starts this binary as a guard.
func startTestGuard(log *os.File) (*Guard, error) {
	return StartGuard([]string{"/usr/bin/env", "KRUND_TEST_PART=guard", os.Args[0]}, log)
}

// TestGuardOutlivesKrund kills a krund without warning: its guard restores.
func TestGuardOutlivesKrund(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	krund := exec.CommandContext(t.Context(), os.Args[0])
	krund.Env = []string{"KRUND_TEST_PART=krund", "GOCOVERDIR=" + t.TempDir()} // the latter for a test binary that counts coverage
	krund.Stdout = w
	if err := krund.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("guarded\n"))
	if _, err := io.ReadFull(r, said); err != nil || string(said) != "guarded\n" {
		t.Fatalf("krund said %q, %v", said, err)
	}
	if err := krund.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = krund.Wait() // it was killed: that is an error by intention
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "restored\n" {
		t.Errorf("after the kill: %q, %v", rest, err)
	}
}

func TestGuardReleased(t *testing.T) {
	t.Setenv("GOCOVERDIR", t.TempDir())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g, err := startTestGuard(w)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), g.Expect(time.Hour), g.Release()); err != nil {
		t.Error(err)
	}
	if said, err := io.ReadAll(r); err != nil || len(said) != 0 {
		t.Errorf("a guard that was sent away said %q, %v", said, err)
	}
}

func TestGuardThatDoesNotStart(t *testing.T) {
	if _, err := StartGuard([]string{"/nowhere/guard"}, nil); err == nil {
		t.Error("no error")
	}
	if _, err := StartGuard(nil, nil); err == nil {
		t.Error("no error without a program")
	}
}

func TestWatch(t *testing.T) {
	tests := []struct {
		name     string
		said     string
		expect   string // what after was asked for
		restored bool
	}{
		{"done", "done\n", "", false},
		{"dead at once", "", "", true},
		{"dead later", "until 60\nuntil 7\n", "1m0s 7s", true},
		{"done later", "until 60\ndone\n", "1m0s", false},
		{"rubbish is no reason to restore", "hello\nuntil x\nuntil -1\nuntil 99999999999999\ndone\n", "", false},
		{"half a word is", "don", "", true},
	}
	for _, tt := range tests {
		var asked []string
		restored := false
		after := func(d time.Duration) <-chan time.Time { asked = append(asked, d.String()); return nil }
		err := Watch(strings.NewReader(tt.said), after, func() error { restored = true; return nil })
		if err != nil || restored != tt.restored || strings.Join(asked, " ") != tt.expect {
			t.Errorf("%s: restored %t, asked for %v, %v", tt.name, restored, asked, err)
		}
	}
}

func TestWatchOverdue(t *testing.T) {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	ring := make(chan time.Time, 1)
	go func() { _, _ = io.WriteString(w, "until 5\n") }()
	failed := errors.New("half restored")
	err := Watch(r, func(time.Duration) <-chan time.Time { ring <- time.Time{}; return ring }, func() error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("%v, want restore's error", err)
	}
}
