package watch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/hub/api"
	"krund/internal/hub/database"
	"krund/internal/machine/command"
)

// buildFailed says why there is nothing to measure. The same would happen again.
type buildFailed struct{ error }

// built returns the blob of what a build has made of a revision, which is built unless it is there;
// of its source if a machine is to build.
func (w *Watcher) built(ctx context.Context, s Schedule, revision, ref string) (hash string, err error) {
	if hash, err = w.DB.Artifact(ctx, s.Name, revision); err != nil || hash != "" {
		return hash, err
	}
	dir, err := os.MkdirTemp(w.Dir, "work-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next start removes it, too
	what := "what the build has left in {directory}"
	if s.onMachine() {
		what = "the source of " + short(revision)
		err = w.mirror(s).source(ctx, revision, dir)
	} else {
		w.Log.Info("building", "schedule", s.Name, "revision", revision)
		argv := s.argv(revision, ref, dir)
		if _, err = command.Run(ctx, command.Cmd{Argv: argv, Env: plainEnv(), Dir: dir,
			Timeout: s.Timeout}); err != nil && ctx.Err() == nil {
			// Every reader sees this: without the arguments, which may have a password.
			err = buildFailed{fmt.Errorf("the build of %s failed: %s: %w", short(revision), argv[0],
				errors.Unwrap(err))}
		}
	}
	if err != nil {
		return "", cmp.Or(ctx.Err(), err)
	}
	var wrong error
	hash, size, err := w.keep(ctx, func(to io.Writer) error {
		wrong = bundle.PackTree(dir, to)
		return wrong
	})
	if wrong != nil {
		return "", buildFailed{fmt.Errorf("%s: %w", what, wrong)}
	}
	if err != nil {
		return "", err
	}
	return hash, w.DB.PutArtifact(ctx, s.Name, revision, hash, size, s.Keep)
}

// submit puts the experiment of a run into the queue.
func (w *Watcher) submit(ctx context.Context, s Schedule, r database.Run, base, new string) error {
	dir, err := os.MkdirTemp(w.Dir, "work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next start removes it, too
	beside := filepath.Dir(s.Experiment)
	var copies []bundle.Copy
	for _, arm := range []struct{ name, hash, revision, ref string }{
		{BaseArm, base, r.Base, s.ref(0)}, {NewArm, new, r.Revision, s.ref(r.Change)}} {
		to := filepath.Join(dir, arm.name)
		content, err := w.Store.Get(ctx, arm.hash)
		if err == nil {
			err = errors.Join(bundle.UnpackTree(content, to), content.Close())
		}
		if err != nil {
			return err
		}
		copied := bundle.Copy{From: to, As: filepath.Join(beside, "builds", arm.name)}
		if s.onMachine() {
			copied.Build, copied.Time = s.argv(arm.revision, arm.ref, "{directory}"), s.Timeout
		}
		copies = append(copies, copied)
	}
	contents, err := s.contents(r, copies)
	if err != nil {
		return w.end(ctx, s, &r, Failed, "it was not measured: "+err.Error())
	}
	var m bundle.Manifest
	hash, size, err := w.keep(ctx, func(to io.Writer) (err error) {
		m, err = contents.Write(to)
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return w.DB.Update(ctx, func(tx *sql.Tx) error {
		pool, err := w.target(ctx, tx, s)
		if err == nil {
			err = w.DB.AddBlob(ctx, tx, hash, size)
		}
		if err == nil {
			err = w.DB.PutBundle(ctx, tx, hash, s.Owner, string(text))
		}
		if err == nil {
			err = w.DB.AddExperiment(ctx, tx, database.Experiment{ID: r.ID, Name: m.Experiment,
				Owner: s.Owner, Project: s.Project,
				Bundle: hash, Config: m.Hash(m.Config), State: database.Queued, Priority: s.Priority,
				Target: s.To,
				ToPool: pool, Parts: s.Machines})
		}
		if err != nil {
			return err
		}
		r.State = database.RunMeasuring
		var tell []string
		if s.Answer.Forge != "" && r.Machine == "" {
			tell = []string{"begun"}
		}
		return w.DB.SetRun(ctx, tx, r, database.RunWaiting, tell...)
	})
}

// target reports whether the experiments of a schedule are for a pool, or that too few machines are
// there.
func (w *Watcher) target(ctx context.Context, tx *sql.Tx, s Schedule) (pool bool, err error) {
	n, pool, err := w.DB.Targets(ctx, tx, s.To, s.Project)
	if err == nil && n < s.Machines {
		err = fmt.Errorf("%s has %s for the project %s, and %d are to share the experiments; let more "+
			"join", s.To, display.Count(int(n), "machine"), s.Project, s.Machines)
	}
	return pool, err
}

// contents reads the experiment's configuration, and collects what it needs.
func (s Schedule) contents(r database.Run, copies []bundle.Copy) (*bundle.Contents, error) {
	const most = 1 << 20
	text, err := durable.ReadSmallFile(durable.OS(), s.Experiment, most)
	if err != nil {
		return nil, err
	}
	text = []byte(strings.NewReplacer("{base}", r.Base, "{new}", r.Revision).Replace(string(text)))
	name := s.plain()
	if r.Machine != "" {
		name += "-again" // it is no night of the history
	}
	cfg, err := config.Parse(filepath.Join(filepath.Dir(s.Experiment), name+".toml"), text, s.To,
		doctor.Settings())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Experiment, err)
	}
	if len(cfg.Arms) < 2 || cfg.Arms[0].Name != BaseArm || cfg.Arms[1].Name != NewArm {
		return nil, fmt.Errorf("%s: its first two arms are to be [arms.base] and [arms.new]", s.Experiment)
	}
	if r.Machine != "" && !slices.ContainsFunc(cfg.Arms, config.Arm.Copy) {
		return nil, fmt.Errorf("%s: it needs an arm with null = true: without it nobody knows what differs "+
			"although nothing changed", s.Experiment)
	}
	return bundle.Collect(cfg, copies)
}

// keep stores a file that write makes, and returns its hash and size. The blob is garbage until a
// row of the database refers to it.
func (w *Watcher) keep(ctx context.Context, write func(io.Writer) error) (hash string, size int64,
	err error) {
	f, err := os.CreateTemp(w.Dir, "work-")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the next start removes it, too
	defer f.Close()           //nolint:errcheck // it is temporary
	sum := sha256.New()
	if err := write(io.MultiWriter(f, sum)); err != nil {
		return "", 0, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err == nil && size > api.MaxBlob {
		err = fmt.Errorf("it has %d bytes, and at most %d are stored", size, api.MaxBlob)
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = w.DB.Announce(ctx, []string{hash})
	}
	if err == nil {
		err = w.Store.Put(ctx, hash, size, io.NewSectionReader(f, 0, size))
	}
	return hash, size, err
}
