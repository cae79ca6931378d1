// Package submit does what a person asks of a hub: it sends an experiment, waits for its end, and
// fetches the results. Start reading at [Session.Send].
package submit

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/hub/api"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
)

// Session is a hub and how to talk about it.
type Session struct {
	Client *api.Client
	Clock  sysroot.Clock
	Say    func(format string, args ...any) // what it does, for people
}

// ErrWaiting is the error for an experiment that has not ended.
var ErrWaiting = errors.New("the experiment has not ended")

// Send packs the experiment and submits it. While the hub cannot be reached, or cannot answer, it
// tries again for a while: a hub, its database or a proxy may be restarted at this moment.
func (s Session) Send(ctx context.Context, cfg *config.Config, copies []bundle.Copy,
	what api.Submission) error {
	contents, err := bundle.Collect(cfg, copies)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "krunctl-bundle-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is temporary
	defer file.Close()           //nolint:errcheck // it is temporary
	sum := sha256.New()
	m, err := contents.Write(io.MultiWriter(file, sum))
	if err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	what.Bundle = hex.EncodeToString(sum.Sum(nil))
	s.Say("%s, %s; the machine must have %s", display.Count(len(m.Files), "file"), display.Bytes(size),
		strings.Join(append(m.External, "krund"), ", "))
	const patience = time.Minute
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ship.Try(limited, s.Clock, func(context.Context) error { // a large bundle may take longer
		err := s.Client.SendBundle(ctx, what.Bundle, size, io.NopCloser(io.NewSectionReader(file, 0, size)))
		if err == nil {
			_, err = s.Client.Submit(ctx, what)
		}
		if err != nil && !ship.Refused(err) {
			s.Say("krunctl: %v; trying again", err)
		}
		return err
	})
}

// askEvery is how often wait asks; patience is for how long it accepts that the hub does not
// answer.
const (
	askEvery = 30 * time.Second
	patience = time.Hour
)

// Await waits until an experiment has ended; 0 is no timeout. The error wraps ErrWaiting if it has
// not ended within timeout.
func (s Session) Await(ctx context.Context, id string, timeout time.Duration) (api.State, error) {
	client, clock := s.Client, s.Clock
	begin := clock.Now()
	answered, last := begin, ""
	for {
		limit := askEvery
		if timeout > 0 {
			limit = min(limit, max(timeout-clock.Now().Sub(begin), time.Second))
		}
		state, err := askState(ctx, client, id, limit)
		switch {
		case err == nil:
			answered = clock.Now()
		case ship.Refused(err), clock.Now().Sub(answered) > patience:
			return state, err
		default:
			s.Say("krunctl: %v; asking again", err)
		}
		if text := progressText(state); err == nil && text != last {
			s.Say("%s", text)
			last = text
		}
		if err == nil && state.Ended() {
			return state, nil
		}
		rest := askEvery
		if timeout > 0 {
			if rest = min(rest, timeout-clock.Now().Sub(begin)); rest <= 0 {
				return state, fmt.Errorf("%w within %s; it goes on", ErrWaiting, timeout)
			}
		}
		if err := clock.Sleep(ctx, rest); err != nil {
			return state, err
		}
	}
}

// askState asks once. A hub that accepts the request and does not answer must not block forever.
func askState(ctx context.Context, client *api.Client, id string, limit time.Duration) (api.State, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return client.Experiment(ctx, id)
}

// NotDone returns the error of an experiment that has ended and is not done; nil if it is.
func NotDone(s api.State) error {
	if s.State == "done" {
		return nil
	}
	return fmt.Errorf("experiment %s has %s", s.ID, ending(s))
}

// ending describes why an experiment is not done.
func ending(s api.State) string {
	text := s.State
	if s.State == "stopped" {
		text = "been stopped"
	}
	for _, share := range s.Shares {
		if share.Progress.Reason != "" {
			text += fmt.Sprintf("; %s: %s", share.Machine, share.Progress.Reason)
		}
	}
	return text
}

// progressText is how far an experiment is, in a line.
func progressText(s api.State) string {
	if len(s.Shares) == 0 {
		return fmt.Sprintf("%s: %s, for %s", s.Name, s.State, s.Target)
	}
	done, left, seconds := 0, 0, int64(0)
	for _, share := range s.Shares {
		p := share.Progress
		done, left, seconds = done+p.Completed+p.Failed+p.Skipped, left+p.Left, max(seconds, p.Seconds)
	}
	text := fmt.Sprintf("%s: %s, %d of %s begun, %d executions done, %d left", s.Name, s.State, len(s.Shares),
		display.Count(s.Machines, "part"), done, left)
	if seconds > 0 && !s.Ended() {
		text += ", about " + display.Duration(time.Duration(seconds)*time.Second)
	}
	return text
}

// Fetch writes the results of an ended experiment below dir, into the directory that it returns.
func Fetch(ctx context.Context, client *api.Client, id, dir string) (string, error) {
	state, err := client.Experiment(ctx, id)
	if err != nil {
		return "", err
	}
	if !state.Ended() {
		return "", fmt.Errorf("%w: %s; `krunctl hub wait %s` waits for it", ErrWaiting, progressText(state),
			id)
	}
	if !api.ValidName(state.Name) {
		return "", fmt.Errorf("experiment %s has a name that cannot be that of a directory", id)
	}
	content, err := client.Results(ctx, id)
	if err != nil {
		return "", err
	}
	defer content.Close() //nolint:errcheck // it was only read
	if err := untar(content, filepath.Join(dir, state.Name)); err != nil {
		return "", fmt.Errorf("fetch the results of experiment %s: %w", id, err)
	}
	return state.Name, nil
}

// Bounds of the results of an experiment.
const (
	resultFiles = 2_000_000
	resultBytes = 256 << 30
)

// untar writes the regular files of an archive below the new directory dir, and nothing elsewhere.
func untar(r io.Reader, dir string) error {
	const listed = 0o755
	if err := os.MkdirAll(dir, listed); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	in := tar.NewReader(io.LimitReader(r, resultBytes))
	for range resultFiles {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || strings.Count(h.Name, "/") > 3 {
			return fmt.Errorf("the hub sends %q, which is no file of an experiment", h.Name)
		}
		if err := root.MkdirAll(filepath.Dir(h.Name), listed); err != nil {
			return err
		}
		if err := extract(root, h.Name, in); err != nil {
			return err
		}
	}
	return fmt.Errorf("there are more than %d files", resultFiles)
}

func extract(root *os.Root, name string, in io.Reader) error {
	const readable = 0o644
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, readable)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, in)
	return errors.Join(err, file.Close())
}
