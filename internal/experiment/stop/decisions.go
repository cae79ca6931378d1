package stop

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"

	"krund/internal/durable"
)

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
