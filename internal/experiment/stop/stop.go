// Package stop defines how an experiment is told that some of its keys need no more executions:
// `krunctl status --decision` prints an [Answer], krund checks it, keeps what it follows in a
// [Decisions] file and skips the slots. The package neither decides nor skips.
//
// An answer is not trusted: [Parse] bounds and checks the text, and [Answer.Finished] compares it
// with the schedule. Start reading there.
package stop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"krund/internal/durable"
	"krund/internal/experiment/key"
)

// Rule is a question that must be answered before a key is finished.
type Rule string

// The rules.
const (
	HalfWidth Rule = "halfwidth" // the level is known to the wanted half width
	Verdict   Rule = "verdict"   // the arm is better, worse or the same
	Class     Rule = "class"     // most executions are of one class
	Similar   Rule = "similar"   // the executions resemble each other
)

// Rules lists all rules.
var Rules = []Rule{HalfWidth, Verdict, Class, Similar}

// Format is the version of Answer and Decisions.
const Format = 1

// Answer is the output of `krunctl status --decision`. docs/output.md describes its fields.
type Answer struct {
	Format     int     `json:"format"`
	Experiment string  `json:"experiment"`
	ConfigHash string  `json:"config_hash"`
	Groups     []Group `json:"groups"` // in the order of the configuration
	// Changed is why the machine is not the one at which keys were finished; "" if it is. krund
	// then runs the rest of the experiment as planned.
	Changed string `json:"changed,omitempty"`
}

// Group is a key, or in an experiment with arms all arms of one, and what is known about it.
type Group struct {
	Keys       []string   `json:"keys"`       // of the arms, the base first
	Executions int        `json:"executions"` // that count; with arms, of the arm with the fewest
	Finish     bool       `json:"finish"`
	Reason     string     `json:"reason"` // why it is finished, or what is still missing
	Questions  []Question `json:"questions"`
	Records    []string   `json:"records"` // names of the records that were looked at
}

// Question is one statement about a key. Numbers are null when they are unknown or infinite.
type Question struct {
	Rule     Rule   `json:"rule"`
	Key      string `json:"key"`
	Answered bool   `json:"answered"`
	Text     string `json:"text"`
	// Alpha is the error of this statement; null for Similar, which has no bound.
	Alpha *float64 `json:"alpha"`
	// Estimate with Low and High is the level in seconds (HalfWidth), the ratio to the base
	// (Verdict) or the share of the class (Class, without Low and High).
	Estimate *float64 `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	// LogE is the natural logarithm of the e-value against no change (Verdict) or no majority
	// (Class).
	LogE *float64 `json:"log_e"`
}

// Number returns v for a Question.
func Number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Bounds of an answer.
const (
	MaxBytes  = 16 << 20
	maxText   = 1000
	maxGroups = 10_000
	maxKeys   = 1000
	maxNames  = 1_000_000
)

// ErrAnswer reports that an answer is not one of `krunctl status --decision`.
var ErrAnswer = errors.New("not an answer of krunctl status --decision")

// Parse reads an answer. The error wraps ErrAnswer.
func Parse(text []byte) (Answer, error) {
	var a Answer
	if err := decode(text, &a); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if err := errors.Join(checkGroups(a.Format, a.Groups), printable(a.Changed)); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return a, nil
}

// decode reads one JSON value that has no unknown fields, and nothing after it.
func decode(text []byte, into any) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("it is longer than %d bytes", MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

func checkGroups(format int, groups []Group) error {
	switch {
	case format != Format:
		return fmt.Errorf("it has format %d, and this krund reads %d", format, Format)
	case len(groups) > maxGroups:
		return fmt.Errorf("it has more than %d groups", maxGroups)
	}
	names := 0
	for _, g := range groups {
		names += len(g.Records)
		if len(g.Keys) < 1 || len(g.Keys) > maxKeys || len(g.Questions) > maxKeys*len(Rules) ||
			g.Executions < 0 {
			return errors.New("a group has a wrong number of keys, questions or executions")
		}
		for _, text := range slices.Concat([]string{g.Reason}, g.Keys, g.Records) {
			if err := printable(text); err != nil {
				return err
			}
		}
		for _, q := range g.Questions {
			if !slices.Contains(Rules, q.Rule) {
				return errors.New("it has an unknown rule")
			}
			if err := errors.Join(printable(q.Key), printable(q.Text)); err != nil {
				return err
			}
		}
	}
	if names > maxNames {
		return fmt.Errorf("it names more than %d records", maxNames)
	}
	return nil
}

// printable returns an error for text that is too long for a log or not fit for a terminal.
func printable(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("a text is longer than %d bytes", maxText)
	}
	if !utf8.ValidString(text) {
		return errors.New("a text is not UTF-8")
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return errors.New("a text has characters that cannot be printed")
		}
	}
	return nil
}

// Facts are what krund knows about the experiment.
type Facts struct {
	Experiment, ConfigHash string
	Groups                 [][]key.Key        // all keys, the arms of a key together
	Completed              map[key.Key]int    // executions by key
	Minimum                int                // before a key may be finished
	Keep                   func(key.Key) bool // keys that are never finished early
}

// Finished returns the groups that the answer finishes. The error says why the whole answer is
// refused: it is about another experiment, or finishes what it must not.
func (a Answer) Finished(f Facts) ([]Group, error) {
	if a.Experiment != f.Experiment || a.ConfigHash != f.ConfigHash {
		return nil, errors.New("the answer is about another experiment or configuration")
	}
	known := map[string][]key.Key{}
	for _, group := range f.Groups {
		known[group[0].String()] = group
	}
	var finished []Group
	for _, g := range a.Groups {
		group, ok := known[g.Keys[0]]
		if !ok || !slices.EqualFunc(group, g.Keys, func(k key.Key, name string) bool {
			return k.String() == name
		}) {
			return nil, fmt.Errorf("the answer names %s, and that is not one key of the schedule with all "+
				"its arms, or it names it twice", g.Keys[0])
		}
		delete(known, g.Keys[0])
		if !g.Finish {
			continue
		}
		fewest := f.Completed[group[0]]
		for _, k := range group {
			fewest = min(fewest, f.Completed[k])
			switch n := f.Completed[k]; {
			case f.Keep(k):
				return nil, fmt.Errorf("the answer finishes %s, which the configuration keeps", k)
			case n < f.Minimum:
				return nil, fmt.Errorf("the answer finishes %s, which has %d completed executions; the "+
					"minimum is %d", k, n, f.Minimum)
			}
		}
		if g.Executions < f.Minimum || g.Executions > fewest {
			return nil, fmt.Errorf("the answer finishes %s after %d executions; the schedule has %d "+
				"completed ones, and the minimum is %d", g.Keys[0], g.Executions, fewest, f.Minimum)
		}
		finished = append(finished, g)
	}
	return finished, nil
}

// Decisions is the file decisions.json of an experiment: which keys were finished early, and why.
// It is durable before the first of their slots is skipped.
type Decisions struct {
	Format int `json:"format"`
	// Seen identifies the records of the last decision, so that krund asks once for each new one.
	Seen   string `json:"seen"`
	Failed string `json:"failed"` // why the last answer was not followed; "" if it was
	// Timeouts is how many of the last decisions in a row ended at their deadline.
	Timeouts int     `json:"timeouts,omitempty"`
	Groups   []Group `json:"groups"` // that are finished, in the order of the decisions
	// Changed is Answer.Changed; from then on nothing is asked. Slots from From on that were
	// skipped are run.
	Changed string `json:"changed,omitempty"`
	From    int    `json:"from,omitempty"`
}

// MostTimeouts is the number of consecutive decisions that may end at their deadline. Each costs it
// between two executions, so that krund then asks no more in this experiment.
const MostTimeouts = 3

// GivenUp reports whether krund asks no more.
func (d Decisions) GivenUp() bool { return d.Timeouts >= MostTimeouts }

// SeenOf identifies a list of records by their names.
func SeenOf[N fmt.Stringer](names []N) string {
	sum := crc32.NewIEEE()
	for _, n := range names {
		fmt.Fprintln(sum, n)
	}
	return fmt.Sprintf("%d:%08x", len(names), sum.Sum32())
}

// Load reads the decisions at path; none if there is no file. The error may be about the contents.
func Load(fsys durable.FS, path string) (Decisions, error) {
	none := Decisions{Format: Format, Groups: []Group{}}
	text, err := durable.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read the decisions: %w", err)
	}
	var d Decisions
	err = decode(text, &d)
	if err == nil {
		err = errors.Join(checkGroups(d.Format, d.Groups), printable(d.Changed))
	}
	if err != nil {
		return none, fmt.Errorf("%s cannot be used: %w", path, err)
	}
	return d, nil
}

// Store writes the decisions durably.
func (d Decisions) Store(fsys durable.FS, path string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	const othersRead = 0o644
	if err := durable.WriteFile(fsys, path, append(text, '\n'), othersRead); err != nil {
		return fmt.Errorf("store the decisions: %w", err)
	}
	return nil
}

// Replace replaces the groups that were asked for by those that are finished now. The others stay.
func (d *Decisions) Replace(asked func(Group) bool, finished []Group) {
	d.Groups = append(slices.DeleteFunc(d.Groups, asked), finished...)
}

// Keep removes from d the groups whose records are not all among those that exist: what was decided
// from a lost or replaced record is not known any more.
func Keep[N fmt.Stringer](d *Decisions, records []N) {
	there := make(map[string]bool, len(records))
	for _, n := range records {
		there[n.String()] = true
	}
	d.Groups = slices.DeleteFunc(d.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Records, func(name string) bool { return !there[name] })
	})
}
