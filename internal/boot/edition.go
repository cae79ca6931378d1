package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// ChangedPrograms is the error for an experiment of which a program, a benchmark or a library is
// not the one that it has measured so far. Nothing is measured with it.
type ChangedPrograms struct {
	Changes []identity.Change
	Next    string // what a person can do, a sentence without its end
}

func (e *ChangedPrograms) Error() string {
	const most = 3
	what := e.Changes[0].File + " has"
	if n := len(e.Changes); n > 1 {
		what = fmt.Sprintf("%s and %s have", e.Changes[0].File, display.Count(n-1, "other file"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s changed since the experiment measured it; it does not go on, because two programs "+
		"never make one number\n", what)
	for _, c := range e.Changes[:min(len(e.Changes), most)] {
		fmt.Fprintf(&b, "  %s\n    was %s\n    is  %s\n", c.File, orMissing(c.Was), orMissing(c.Is))
	}
	if n := len(e.Changes) - most; n > 0 {
		fmt.Fprintf(&b, "  and %s\n", display.Count(n, "other file"))
	}
	return b.String() + e.Next
}

func orMissing(hash string) string {
	if hash == "" {
		return "missing"
	}
	return "SHA-256 " + hash
}

// edition returns the number of the programs that are measured.
func (x *experiment) edition() int {
	if n := len(x.editions); n > 0 {
		return x.editions[n-1].Number
	}
	return 1
}

// openEditions reads what the experiment measures. If a person accepts changed programs, what is
// there now is a new edition, whatever has changed.
func (x *experiment) openEditions(ctx context.Context) error {
	if x.Programs == nil {
		return nil
	}
	_, err := durable.RemoveTemps(x.FS, x.directory.Dir()) // no slot is begun that reconcile would clean up
	if err != nil {
		x.Log.Warn("temporary files remain; they are harmless", "error", err)
	}
	x.editions, err = identity.LoadEditions(x.FS, x.directory.Editions())
	if errors.Is(err, fs.ErrNotExist) {
		x.editions, err = x.adopt(ctx)
	}
	if err != nil {
		return err
	}
	asked, err := x.directory.Asked(directory.Accept)
	if err != nil || !asked && !x.AcceptChanged {
		return err
	}
	if err := x.accept(ctx); err != nil {
		return err
	}
	_, err = x.directory.Withdraw(directory.Accept)
	return err
}

// forgetEditions removes those of an experiment that was in the directory before: a quick run that
// is replaced. Its schedule is gone already.
func (x *experiment) forgetEditions() error {
	x.editions = nil
	err := x.FS.Remove(x.directory.Editions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = x.FS.SyncDir(x.directory.Dir())
	}
	if err != nil {
		return fmt.Errorf("forget the programs of the earlier experiment: %w", err)
	}
	return nil
}

// accept begins a new edition. Hooks may make the programs, so that what the keys run is known only
// when they run.
func (x *experiment) accept(ctx context.Context) error {
	if len(x.editions) == 0 {
		return nil // nothing was measured
	}
	last := x.editions[len(x.editions)-1]
	next, err := identity.Next(x.editions, x.Clock.Now())
	if err != nil {
		return err
	}
	if x.hooked() {
		next.Programs = nil
	} else {
		now, err := x.Programs.Read(ctx)
		if err != nil {
			return err
		}
		changes, _ := last.Compare(now, nil)
		if len(changes) == 0 {
			x.Log.Info("no program has changed; there is nothing to accept")
			return nil
		}
		for _, c := range changes {
			delete(next.Programs, c.Name)
			if is, there := now[c.Name]; there {
				next.Programs[c.Name] = is
			}
		}
	}
	x.Log.Warn(fmt.Sprintf("changed programs are accepted: what is measured from here on is edition %d",
		next.Number))
	return x.storeEditions(append(slices.Clone(x.editions), next))
}

// hooked reports whether commands run around executions, which may make what is measured.
func (x *experiment) hooked() bool { return len(x.cfg.Hooks.Before)+len(x.cfg.Hooks.After) > 0 }

func (x *experiment) storeEditions(editions []identity.Edition) error {
	if err := identity.StoreEditions(x.FS, x.directory.Editions(), editions); err != nil {
		return err
	}
	x.editions, x.adopted = editions, false
	return nil
}

// sameBefore is samePrograms for all keys, before a slot begins. With hooks, each key is checked
// when they have run.
func (x *experiment) sameBefore(ctx context.Context) error {
	if x.hooked() {
		return nil
	}
	return x.samePrograms(ctx, nil)
}

// sameFor is samePrograms for a key.
func (x *experiment) sameFor(ctx context.Context, k key.Key) error {
	return x.samePrograms(ctx, identity.Names(k))
}

// samePrograms returns a *ChangedPrograms if the programs of the given names, all if nil, are not
// those that the experiment measures. What is known about them now for the first time is stored,
// before anything is measured with them.
func (x *experiment) samePrograms(ctx context.Context, names []string) error {
	if x.Programs == nil {
		return nil
	}
	now, err := x.Programs.Read(ctx)
	if err != nil {
		return err
	}
	if len(x.editions) == 0 {
		first := identity.Edition{Number: 1, Began: x.Clock.Now().UTC()}
		_, first = first.Compare(now, names)
		return x.storeEditions([]identity.Edition{first})
	}
	last := x.editions[len(x.editions)-1]
	changes, grown := last.Compare(now, names)
	if len(changes) > 0 {
		return &ChangedPrograms{Changes: changes, Next: x.nextSteps()}
	}
	if !x.adopted && maps.EqualFunc(last.Programs, grown.Programs, identity.Program.Equal) {
		return nil
	}
	editions := slices.Clone(x.editions)
	editions[len(editions)-1] = grown
	return x.storeEditions(editions)
}

// changes returns how the programs of the given names, all if nil, differ from the present edition;
// nothing if that is not known.
func (x *experiment) changes(ctx context.Context, names []string) ([]identity.Change, error) {
	if x.Programs == nil || len(x.editions) == 0 {
		return nil, nil
	}
	now, err := x.Programs.Read(ctx)
	if err != nil {
		return nil, err
	}
	changes, _ := x.editions[len(x.editions)-1].Compare(now, names)
	return changes, nil
}

// changedMeanwhile returns a remark if a program of a key has changed while it was measured.
func (x *experiment) changedMeanwhile(ctx context.Context, k key.Key) (remarks []string) {
	changes, _ := x.changes(ctx, identity.Names(k)) // after an error, too, the execution is complete
	for _, c := range changes {
		remarks = append(remarks, fmt.Sprintf("%s changed while this execution ran: was %s, is %s", c.File,
			orMissing(c.Was), orMissing(c.Is)))
	}
	return remarks
}

// nextSteps returns what a person can do about changed programs.
func (x *experiment) nextSteps() string {
	flags := ""
	if dir := x.directory.Dir(); dir != directory.For(x.cfg.Path) {
		flags = "--directory " + display.ShellPath(dir) + " "
	}
	path := display.ShellPath(x.cfg.Path)
	if config.IsQuick(x.cfg.Text) {
		return fmt.Sprintf("start `krund run --quick %s` again: it replaces this quick run", path)
	}
	command := "krund run --accept-changed " + flags + path
	if x.restarts() {
		command = "krunctl enable --accept-changed " + path
	}
	next := fmt.Sprintf("restore it, or continue with `%s`: the results before and after are then kept "+
		"apart, and `krunctl run --again` can measure the earlier ones again", command)
	if x.hooked() {
		next += "; if a hook builds it anew each time, let experiment.relink do that"
	}
	return next
}

// adopt returns the edition of an experiment that has records but no file of editions: an earlier
// version has begun it, or the file was lost. It is stored when it is used. The edition is that of
// the newest record; the programs are those with which the experiment began, if only the first
// edition is known.
func (x *experiment) adopt(ctx context.Context) ([]identity.Edition, error) {
	newest, there := x.newestRecord()
	if !there {
		return nil, nil
	}
	hashes, number := newest.Machine.Fingerprint, min(max(newest.Edition, 1), identity.MaxEdition)
	if number == 1 {
		text, err := durable.ReadFile(x.FS, x.directory.Fingerprint())
		var origin map[string]string
		if err == nil && json.Unmarshal(text, &origin) == nil {
			hashes = origin
		}
	}
	now, err := x.Programs.Read(ctx)
	if err != nil {
		return nil, err
	}
	e := identity.Adopt(number, hashes, now)
	e.Began = x.Clock.Now().UTC()
	if changes, _ := e.Compare(now, nil); len(changes) > 0 {
		e.Varies = x.varying(changes)
	}
	x.adopted = true
	return []identity.Edition{e}, nil
}

// newestRecord returns the record of the last attempt that has one with a fingerprint.
func (x *experiment) newestRecord() (results.Record, bool) {
	var newest results.Record
	listing, err := x.reader.List()
	if err != nil {
		return newest, false // an error of the disk, which the first record reports
	}
	looked := 0
	for _, name := range slices.Backward(listing.Records) {
		record, err := x.reader.Load(name)
		if err == nil && record.Machine.Fingerprint != nil && record.Started.After(newest.Started) {
			newest = record
		}
		if looked++; looked == lookBack {
			break
		}
	}
	return newest, !newest.Started.IsZero()
}

// varying returns the names of the changed programs of which each execution of a key has had its
// own.
func (x *experiment) varying(changes []identity.Change) []string {
	hashes := map[string]map[key.Key][]string{} // by name
	for record, err := range x.reader.All() {
		if err != nil || record.Outcome != results.Completed {
			continue
		}
		for _, name := range identity.Names(record.Key) {
			if hash := record.Machine.Fingerprint[name]; hash != "" {
				if hashes[name] == nil {
					hashes[name] = map[key.Key][]string{}
				}
				hashes[name][record.Key] = append(hashes[name][record.Key], hash)
			}
		}
	}
	var names []string
	for _, c := range changes {
		for _, list := range hashes[c.Name] {
			if identity.EachItsOwn(list) && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
				x.Log.Warn("every execution has been measured with another build of a program; changes "+
					"of it do not end the experiment", "program", c.Name)
			}
		}
	}
	return names
}

// changedPrograms reports whether the programs of a quick run have changed, so that it is replaced.
func (x *experiment) changedPrograms(ctx context.Context) bool {
	var err error
	if x.editions, err = identity.LoadEditions(x.FS, x.directory.Editions()); err != nil || x.hooked() {
		return false
	}
	changes, _ := x.changes(ctx, nil) // an error shows again before a slot begins
	return len(changes) > 0
}
