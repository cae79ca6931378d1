package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Latest finds the executions of an experiment that were measured with other programs than the
// latest one of their key: they are no part of its number. The zero value is for an experiment of
// which no editions are known.
type Latest struct {
	Editions []Edition // in order; nil: only the hashes in the records are known

	keys []key.Key // in the order of Add
	runs map[key.Key][]run
}

// run is a completed execution.
type run struct {
	name    results.Name
	number  int // of the process execution
	edition int
	started time.Time
	hashes  map[string]string // of what the key runs, as far as the record has them
}

// Add adds a record that counts.
func (l *Latest) Add(r *results.Record) {
	if l.runs == nil {
		l.runs = map[key.Key][]run{}
	}
	if l.runs[r.Key] == nil {
		l.keys = append(l.keys, r.Key)
	}
	hashes := map[string]string{}
	for _, name := range Names(r.Key) {
		if hash := r.Machine.Fingerprint[name]; hash != "" {
			hashes[name] = hash
		}
	}
	l.runs[r.Key] = append(l.runs[r.Key], run{results.Name{Slot: r.Slot, Attempt: r.Attempt}, r.Pexec,
		r.Edition, r.Started, hashes})
}

// Others returns the records of other programs, and a remark that names what has changed, in at
// most a few lines of text; "" if there are none.
func (l *Latest) Others() (others map[results.Name]bool, remark string) {
	others = map[results.Name]bool{}
	const most = 3 // changes in the remark
	var texts []string
	keys, more := 0, map[Change]bool{}
	for _, k := range l.keys {
		list, last, changes := l.others(k)
		for _, name := range list {
			others[name] = true
		}
		if len(list) == 0 {
			continue
		}
		keys++
		for _, c := range changes {
			key := Change{File: c.File, Was: c.Was, Is: c.Is} // several keys share a program
			if more[key] {
				continue
			}
			more[key] = true
			if len(texts) < most {
				texts = append(texts, fmt.Sprintf("%s changed after execution %d of %s%s",
					display.Clip(display.PlainLine(c.File), longestFile), last, k, c.hashes()))
			}
		}
	}
	if keys == 0 {
		return nil, ""
	}
	if n := len(more) - len(texts); n > 0 {
		texts = append(texts, "and "+display.Count(n, "other change"))
	}
	verb := "were"
	if keys == 1 {
		verb = "was"
	}
	return others, fmt.Sprintf("%d of %s %s measured with different programs: %s. Only the executions with "+
		"the latest programs of a key count; %s kept apart", keys, display.Count(len(l.keys), "key"), verb,
		strings.Join(texts, ", "), earlier(len(others)))
}

// longestFile bounds the name of a file in the remark, in bytes.
const longestFile = 200

func earlier(n int) string {
	if n == 1 {
		return "1 other is"
	}
	return fmt.Sprintf("%d others are", n)
}

// hashes returns the beginnings of the hashes, or of what a file has in their place; "" if both are
// unknown.
func (c Change) hashes() string {
	const digits = 12
	if c.Was == "" && c.Is == "" {
		return ""
	}
	short := func(hash string) string {
		return display.PlainLine(display.Head(cmp.Or(hash, "missing"), digits))
	}
	return fmt.Sprintf(" (SHA-256 %s, then %s)", short(c.Was), short(c.Is))
}

// others returns the records of a key with other programs than its latest, the number of the last
// such execution, and what has changed after it.
func (l *Latest) others(k key.Key) (list []results.Name, last int, changes []Change) {
	runs := slices.Clone(l.runs[k])
	slices.SortFunc(runs, func(a, b run) int { // a clock may be wrong, the number of an edition is not
		return cmp.Or(cmp.Compare(a.edition, b.edition), a.started.Compare(b.started),
			cmp.Compare(a.name.Slot, b.name.Slot), cmp.Compare(a.name.Attempt, b.name.Attempt))
	})
	after := runs[len(runs)-1]
	all, varies, apart := Names(k), l.varies(runs), false
	is := l.programs(after, all).Programs
	for _, r := range slices.Backward(runs) {
		if r.edition > 0 && l.accepted(r.edition) == l.accepted(after.edition) { // the same programs
			if apart {
				list = append(list, r.name)
			}
			continue
		}
		after = r
		was := l.programs(r, all)
		was.Varies = varies
		known := false
		names := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			both := was.Programs[name].SHA256 != "" && is[name].SHA256 != ""
			known = known || both
			return r.edition == 0 && !both // earlier versions did not hash everything
		})
		now, _ := was.Compare(is, names)
		switch {
		case known:
			apart = len(now) > 0
		case r.edition > 0: // nothing shows that the two editions are the same for this key
			apart, now = true, []Change{{File: "one of its programs"}}
		} // else: as the execution after it
		if !apart {
			for _, name := range all {
				if is[name].SHA256 == "" && was.Programs[name].SHA256 != "" {
					is[name] = was.Programs[name] // the latest record does not have it
				}
			}
			continue
		}
		if len(list) == 0 {
			last, changes = r.number, now
		}
		list = append(list, r.name)
	}
	return list, last, changes
}

// accepted returns the number of the edition whose programs an edition has: that of the last one up
// to the next at which the experiment did not only grow. It knows most about these programs.
func (l *Latest) accepted(edition int) int {
	i, known := l.find(edition)
	if !known {
		return edition
	}
	for i+1 < len(l.Editions) && l.Editions[i+1].Config != "" {
		i++
	}
	return l.Editions[i].Number
}

func (l *Latest) find(edition int) (i int, known bool) {
	return slices.BinarySearchFunc(l.Editions, edition, func(e Edition, number int) int {
		return cmp.Compare(e.Number, number)
	})
}

// programs returns what an execution ran, of these names only: an edition has the programs of all
// keys.
func (l *Latest) programs(r run, names []string) Edition {
	i, known := l.find(l.accepted(r.edition))
	if !known {
		return Adopt(r.edition, r.hashes, nil)
	}
	e := Edition{Number: r.edition, Programs: map[string]Program{}}
	for _, name := range names {
		if program, known := l.Editions[i].Programs[name]; known {
			e.Programs[name] = program
		}
	}
	return e
}

// varies returns the names of programs of which each execution of a key has its own.
func (l *Latest) varies(runs []run) []string {
	var names []string
	if n := len(l.Editions); n > 0 {
		names = slices.Clone(l.Editions[n-1].Varies)
	}
	hashes := map[string][]string{}
	for _, r := range runs {
		for name, hash := range r.hashes {
			if r.edition == 0 {
				hashes[name] = append(hashes[name], hash)
			}
		}
	}
	for name, list := range hashes {
		if EachItsOwn(list) {
			names = append(names, name)
		}
	}
	return names
}
