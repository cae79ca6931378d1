package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"krund/internal/machine/command"
)

// The messages on the two pipes. A newline ends a message.
const (
	ready = "ready" // guard to krund: krund may change the machine now
	done  = "done"  // krund to guard: everything has been restored; end

	restarting = "restarting" // krund to guard: krund ends in order, the machine is about to restart
)

// startTime bounds how long a guard may take to start. It takes milliseconds; a slower machine is
// not fit to measure.
const startTime = 30 * time.Second

// A Guard is a process that waits for the end of this one.
type Guard struct {
	word *os.File // krund's end of the pipe that the guard reads
	gone *os.File // ends when the guard does
}

// Options are the parameters of a guard.
type Options struct {
	About []string // what to restore: passed to the function that Stage was given
	CPUs  []int    // the guard runs on these if possible; nil: on any
	Log   *os.File // its standard error; nil: none
	Lock  *os.File // stays open, and so locked, until the guard has ended; nil: none

	hasLock bool // in the guard: lockDescriptor is Lock
}

// Start starts a guard and returns when it is ready. The program must call Stage first in main.
func Start(ctx context.Context, o Options) (*Guard, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	g, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start the guard that restores the machine when krund is killed: %w", err)
	}
	return g, nil
}

func start(ctx context.Context, o Options) (*Guard, error) {
	hears, word, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	gone, says, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, hears.Close(), word.Close())
	}
	g := &Guard{word: word, gone: gone}
	err = g.launch(ctx, o, hears, says)
	err = errors.Join(err, hears.Close(), says.Close())
	if err == nil {
		err = g.wait(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// launch runs the first copy to its end. By then it has started the second one.
func (g *Guard) launch(ctx context.Context, o Options, hears, says *os.File) error {
	program, err := command.Self()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = arguments(first, o)
	cmd.Env = environment(os.Environ())
	cmd.Dir = "/" // so that no file system stays busy
	cmd.Stdin, cmd.Stdout = hears, says
	if o.Log != nil {
		cmd.Stderr = o.Log
	}
	if o.Lock != nil {
		cmd.ExtraFiles = []*os.File{o.Lock}
	}
	return cmd.Run()
}

// wait returns when the guard has reported that it is ready.
func (g *Guard) wait(ctx context.Context) error {
	if limit, ok := ctx.Deadline(); ok {
		if err := g.gone.SetReadDeadline(limit); err != nil {
			return err
		}
	}
	if err := hear(g.gone); err != nil {
		return err
	}
	return g.gone.SetReadDeadline(time.Time{})
}

// hear reads the guard's message.
func hear(gone io.Reader) error {
	word, err := readWord(gone)
	switch {
	case errors.Is(err, io.EOF) && word == "":
		return errors.New("it ended immediately")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case word != ready+"\n":
		return fmt.Errorf("unexpected message %q", word)
	}
	return nil
}

// longestWord bounds the length of a message, in bytes.
const longestWord = 64

// readWord reads one message with its newline. The error is io.EOF if the pipe ended, or the
// message became too long, before the newline.
func readWord(pipe io.Reader) (string, error) {
	return bufio.NewReader(io.LimitReader(pipe, longestWord)).ReadString('\n')
}

// Dismiss ends the guard because everything has been restored, and waits for its end. The error is
// io.ErrUnexpectedEOF or EPIPE if the guard had ended before: then nothing would have restored the
// machine.
func (g *Guard) Dismiss() error {
	_, err := io.WriteString(g.word, done+"\n")
	if err == nil {
		_, err = io.Copy(io.Discard, g.gone)
	}
	if err = errors.Join(err, g.close()); err != nil {
		return fmt.Errorf("dismiss the guard: %w", err)
	}
	return nil
}

// HandOver makes the guard restore what is still changed, as soon as this process releases the
// journal, by ending or earlier.
func (g *Guard) HandOver() error { return g.close() }

// AnnounceRestart is HandOver for a krund that ends in order because the machine is about to
// restart, which resets all settings. The restart may still be delayed, so the guard restores the
// settings, but does not report them.
func (g *Guard) AnnounceRestart() error {
	_, err := io.WriteString(g.word, restarting+"\n")
	if err = errors.Join(err, g.close()); err != nil {
		return fmt.Errorf("announce the restart to the guard: %w", err)
	}
	return nil
}

func (g *Guard) close() error { return errors.Join(g.word.Close(), g.gone.Close()) }
