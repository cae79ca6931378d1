package identity

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/schedule"
)

// Program is what the files of one name contain.
type Program struct {
	SHA256 string            `json:"sha256"`          // as in the fingerprint
	Files  map[string]string `json:"files,omitempty"` // SHA-256 of each by its path; nil: unknown
}

// Equal reports whether the same is known about two programs.
func (p Program) Equal(q Program) bool { return p.SHA256 == q.SHA256 && maps.Equal(p.Files, q.Files) }

// Edition is the programs of an experiment from one time on. A new edition begins when a person
// accepts that they have changed; results of different programs are never pooled. One also begins,
// with the same programs, when the experiment grows.
type Edition struct {
	Number   int                `json:"edition"`          // 1 to MaxEdition
	Began    time.Time          `json:"began"`            // UTC
	Programs map[string]Program `json:"programs"`         // by name in the fingerprint, with Prefix
	Varies   []string           `json:"varies,omitempty"` // names that each execution has its own of
	// Config is the text of the configuration by which the experiment grew, and From the first slot
	// that it planned. In an experiment that grew, the first edition has what it was begun with.
	Config string `json:"config,omitempty"`
	From   int    `json:"from_slot,omitempty"`
}

// MaxEdition bounds the number of editions: far more than a person accepts or adds.
const MaxEdition = 999_999

// editionsFormat is the version of the file of editions.
const editionsFormat = 1

type editionsFile struct {
	Format   int       `json:"format"`
	Editions []Edition `json:"editions"` // in order
}

// LoadEditions reads the editions of an experiment, the present one last. The error wraps
// fs.ErrNotExist if there is no such file.
func LoadEditions(fsys durable.FS, path string) ([]Edition, error) {
	text, err := durable.ReadFile(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("read the programs of the experiment: %w", err)
	}
	var file editionsFile
	err = json.Unmarshal(text, &file)
	switch {
	case err != nil:
	case file.Format > editionsFormat:
		err = fmt.Errorf("it has format %d, and this version reads formats up to %d", file.Format,
			editionsFormat)
	case file.Format < 1 || len(file.Editions) == 0:
		err = fmt.Errorf("it has no editions")
	}
	if err == nil {
		err = checkEditions(file.Editions)
	}
	if err != nil {
		remedy := ", or remove it: the newest record and the fingerprint then say so"
		if bytes.Contains(text, []byte(`"config":`)) {
			remedy = ": nothing else says in which stages the experiment grew"
		}
		return nil, fmt.Errorf("%s does not say which programs the experiment measures: %w; restore it from "+
			"a copy%s", path, err, remedy)
	}
	return file.Editions, nil
}

// checkEditions checks the numbers of editions, of which there is one.
func checkEditions(editions []Edition) error {
	last := Edition{}
	for i, e := range editions {
		switch {
		case e.Number <= last.Number:
			return fmt.Errorf("edition %d follows another one", e.Number)
		case e.Number > MaxEdition:
			return fmt.Errorf("edition %d is none that krund can have made: they end with %d", e.Number,
				MaxEdition)
		case e.Config == "" && e.From == 0: // it did not grow: changed programs were accepted
		case e.From < last.From || e.From > schedule.MaxSlots || e.Config == "":
			return fmt.Errorf("edition %d grows from slot %d on, and edition %d from slot %d on", e.Number,
				e.From, last.Number, last.From)
		case i > 0 && e.Config != "" && editions[0].Config == "":
			return fmt.Errorf("edition %d grows from a configuration that is not there", e.Number)
		}
		if e.Config != "" {
			last.From = e.From
		}
		last.Number = e.Number
	}
	return nil
}

// Next returns the edition after the last one, which begins now. It is an error if there are too
// many.
func Next(editions []Edition, now time.Time) (Edition, error) {
	last := editions[len(editions)-1]
	if last.Number >= MaxEdition {
		return Edition{}, fmt.Errorf("the experiment has its last edition, %d; start another experiment",
			last.Number)
	}
	return Edition{Number: last.Number + 1, Began: now.UTC(), Programs: maps.Clone(last.Programs),
		Varies: last.Varies}, nil
}

// Grow returns the editions of an experiment that grows now: the last one plans by the text is,
// from the slot from on. was is the text that the experiment was begun with, if it did not grow
// before.
func Grow(editions []Edition, was, is string, from int, now time.Time) ([]Edition, error) {
	editions = slices.Clone(editions)
	if len(editions) == 0 { // nothing was measured
		editions = []Edition{{Number: 1, Began: now.UTC()}}
	}
	next, err := Next(editions, now)
	if err != nil {
		return nil, err
	}
	editions[0].Config = cmp.Or(editions[0].Config, was)
	next.Config, next.From = is, from
	return append(editions, next), nil
}

// Stages returns the stages of an experiment that grew, the first of which is what it was begun
// with; nil if it did not grow. parse reads the text of a configuration.
func Stages(editions []Edition, parse func(text string) (*config.Config, error)) ([]schedule.Stage, error) {
	var stages []schedule.Stage
	for _, e := range editions {
		if e.Config == "" {
			continue
		}
		cfg, err := parse(e.Config)
		if err != nil {
			return nil, fmt.Errorf("the configuration of edition %d cannot be read: %w", e.Number, err)
		}
		stages = append(stages, schedule.Stage{Config: cfg, From: e.From})
	}
	return stages, nil
}

// Configs returns the hash of the present configuration by that of each earlier one of an
// experiment that grew: what it has measured with either belongs together.
func Configs(editions []Edition) map[string]string {
	present := map[string]string{}
	last := ""
	for _, e := range slices.Backward(editions) {
		if e.Config == "" {
			continue
		}
		sum := sha256.Sum256([]byte(e.Config))
		hash := hex.EncodeToString(sum[:])
		last = cmp.Or(last, hash)
		present[hash] = last
	}
	return present
}

// StoreEditions stores the editions durably.
func StoreEditions(fsys durable.FS, path string, editions []Edition) error {
	text, err := json.MarshalIndent(editionsFile{editionsFormat, editions}, "", " ")
	if err == nil {
		err = durable.WriteFile(fsys, path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("store the programs of the experiment: %w; repair the disk and start krund again",
			err)
	}
	return nil
}

// Measured reports whether a name of the fingerprint is of files that an experiment measures. It is
// not for krund's own runners and its library: a new version of krund goes on with an experiment.
func Measured(name string) bool {
	name, program := strings.CutPrefix(name, Prefix)
	return program && (strings.HasPrefix(name, "vm.") || strings.HasPrefix(name, "benchmark.") ||
		name == RelinkName)
}

// RelinkName is the name of the program of experiment.relink.
const RelinkName = "relink"

// Names returns the names in the fingerprint of the files that k runs, with Prefix. An experiment
// need not have all of them.
func Names(k key.Key) []string {
	vm, benchmark := Prefix+vmName(k), Prefix+benchmarkName(k)
	return []string{vm, vm + libraryFiles, benchmark, benchmark + otherFiles, Prefix + RelinkName}
}

// ofHashes returns programs of which only the hashes are known, as in a fingerprint.
func ofHashes(hashes map[string]string) map[string]Program {
	programs := map[string]Program{}
	for name, hash := range hashes {
		if Measured(name) {
			programs[name] = Program{SHA256: hash}
		}
	}
	return programs
}

// Adopt returns the edition of an experiment that an earlier version of krund has begun, or whose
// editions are lost: hashes are those of the fingerprint at that time. What earlier versions did
// not hash is taken as it is now.
func Adopt(number int, hashes map[string]string, now map[string]Program) Edition {
	e := Edition{Number: number, Programs: ofHashes(hashes)}
	for name, program := range now {
		if _, known := e.Programs[name]; !known {
			e.Programs[name] = program
		}
	}
	return e
}

// Change is a file that is not as in an edition.
type Change struct {
	Name    string // in the fingerprint, with Prefix
	File    string // its path, or a description of several
	Was, Is string // SHA-256; "": there was or is no such file
}

// Unchanged returns an error that names a file of the benchmarks and VMs that is not as in the
// newest edition of an experiment, before results are withdrawn that could not be measured again,
// or executions are added that could not be measured.
// Without a file of editions there is none to compare with, and hooks may make the files.
func Unchanged(ctx context.Context, fsys durable.FS, file string, cfg *config.Config) error {
	editions, err := LoadEditions(fsys, file)
	if errors.Is(err, fs.ErrNotExist) || len(cfg.Hooks.Before)+len(cfg.Hooks.After) > 0 {
		return nil
	}
	if err != nil || len(editions) == 0 {
		return err
	}
	programs := Programs{Files: Files(cfg)}
	now, err := programs.Read(ctx)
	if err != nil {
		return err
	}
	names := []string{}
	for name := range programs.Files {
		names = append(names, Prefix+name)
	}
	if changes, _ := editions[len(editions)-1].Compare(now, names); len(changes) > 0 {
		return fmt.Errorf("%s has changed since it was measured, so that krund would not go on; nothing "+
			"was done: restore it, or accept it first: `krunctl run --accept-changed %s`",
			changes[0].File, display.ShellPath(cfg.Path))
	}
	return nil
}

// Compare compares the programs of an edition with those of now. It looks at the given names only;
// nil are all. It returns what has changed, and the edition with what it did not know yet.
//
// A missing program is no change: it is the outcome of the executions that need it. Neither is one
// that was missing: nothing was measured with it. But files that come with a program, its libraries
// and those beside an entry, must be the same ones as long as the program is there.
func (e Edition) Compare(now map[string]Program, names []string) (changes []Change, grown Edition) {
	grown = e
	grown.Programs = maps.Clone(e.Programs)
	if grown.Programs == nil {
		grown.Programs = map[string]Program{}
	}
	if names == nil {
		names = append(slices.Collect(maps.Keys(now)), slices.Collect(maps.Keys(e.Programs))...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, known := e.Programs[name]
		is, there := now[name]
		owner, comesWith := ownerOf(name)
		ownerThere := now[owner].SHA256 != "" && e.Programs[owner].SHA256 != ""
		switch {
		case !known && !there || slices.Contains(e.Varies, name):
		case known && there && was.SHA256 == is.SHA256:
			if was.Files == nil {
				grown.Programs[name] = is
			}
		case known && there, comesWith && ownerThere:
			found := fileChanges(name, was, is)
			if slices.ContainsFunc(found, func(c Change) bool { return !e.added(c, now) }) {
				changes = append(changes, found...)
			} else {
				grown.Programs[name] = is
			}
		case there:
			grown.Programs[name] = is
		}
	}
	return changes, grown
}

// added reports whether a change is that an entry of another key came, which this edition does not
// know, or knows with this content.
func (e Edition) added(c Change, now map[string]Program) bool {
	if c.Was != "" || !strings.HasSuffix(c.Name, otherFiles) {
		return false
	}
	for name, is := range now {
		_, comesWith := ownerOf(name)
		entry := strings.HasPrefix(name, Prefix+benchmarks) && !comesWith && is.Files[c.File] != ""
		if was := e.Programs[name].SHA256; entry && (was == "" || was == is.SHA256) {
			return true
		}
	}
	return false
}

// ownerOf returns the program with which the files of a name come, if they do.
func ownerOf(name string) (string, bool) {
	for _, ending := range []string{libraryFiles, otherFiles} {
		if owner, found := strings.CutSuffix(name, ending); found {
			return owner, true
		}
	}
	return name, false
}

// fileChanges returns the files that differ; if they are unknown, one change for all.
func fileChanges(name string, was, is Program) []Change {
	var list []Change
	paths := append(slices.Collect(maps.Keys(was.Files)), slices.Collect(maps.Keys(is.Files))...)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if was.Files[path] != is.Files[path] && (was.Files != nil || was.SHA256 == "") {
			list = append(list, Change{name, path, was.Files[path], is.Files[path]})
		}
	}
	if len(list) > 0 {
		return list
	}
	what := strings.TrimPrefix(name, Prefix)
	if len(paths) == 1 {
		what = paths[0]
	} else if len(paths) > 1 {
		what = fmt.Sprintf("one of %s and %d other files (%s)", paths[0], len(paths)-1, what)
	}
	return []Change{{name, what, was.SHA256, is.SHA256}}
}

// tinkering is how often a person may change a program between executions at most.
const tinkering = 5

// EachItsOwn reports whether a program is built anew for every execution, as by a hook that links
// it with another time stamp: hashes are those of the executions of a key, each is a different one,
// and there are more than a person would change by hand. Without this, such an experiment could not
// go on, and each execution would be a result of its own.
func EachItsOwn(hashes []string) bool {
	seen := map[string]bool{}
	for _, hash := range hashes {
		if seen[hash] {
			return false
		}
		seen[hash] = true
	}
	return len(seen) >= tinkering
}
