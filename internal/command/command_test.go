package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		cmd     Cmd
		want    string
		wantErr string
	}{
		{"output of both streams", Cmd{Argv: []string{"sh", "-c", "echo out; echo err >&2"}}, "out\nerr\n", ""},
		{"standard input", Cmd{Argv: []string{"cat"}, Stdin: "hello"}, "hello", ""},
		{"environment is exactly what was given", Cmd{Argv: []string{"/usr/bin/env"}, Env: []string{"A=b"}}, "A=b\n", ""},
		{"exit status and last line", Cmd{Argv: []string{"sh", "-c", "echo first; echo last; exit 3"}}, "first\nlast\n", "exit status 3: last"},
		{"no such program", Cmd{Argv: []string{"/nowhere/program"}}, "", "/nowhere/program"},
		{"no program", Cmd{}, "", "no program named"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Run(t.Context(), tt.cmd)
			if got != tt.want {
				t.Errorf("output %q, want %q", got, tt.want)
			}
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want one with %q", err, tt.wantErr)
			}
		})
	}
}

func TestRunKillsTheGroupAtTheDeadline(t *testing.T) {
	// The shell waits for a grandchild that would sleep for an hour: only killing the whole group ends this test.
	out, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "echo begun; sleep 3600 & wait"}, Timeout: 200 * time.Millisecond})
	if !errors.Is(err, ErrTimeout) {
		t.Fatalf("error %v, want ErrTimeout", err)
	}
	if out != "begun\n" {
		t.Errorf("output %q, want what was printed before the deadline", out)
	}
}

func TestRunReturnsThoughALeftoverHoldsTheOutput(t *testing.T) {
	if _, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "sleep 3600 & exit 0"}}); err != nil {
		t.Errorf("a program that ended well: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Cmd{Argv: []string{"sleep", "3600"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestRunBoundsTheOutput(t *testing.T) {
	out, err := Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "head -c 10000000 /dev/zero"}})
	if err != nil || len(out) != outputLimit {
		t.Errorf("kept %d bytes, error %v; want %d and none", len(out), err, outputLimit)
	}
}
