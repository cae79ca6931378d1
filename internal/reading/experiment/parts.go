package experiment

import (
	"fmt"
	"slices"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// place is where the record of an execution is.
type place struct {
	name  results.Name
	pexec int
	part  Experiment
}

// places are those of the executions of each key on each machine; "" if there is one directory.
type places map[key.Key]map[string][]place

// placesOf makes r note the places of the records that it reads.
func placesOf(r *Reader) places {
	p := places{}
	r.visitPart = func(e Experiment, rec *results.Record) {
		if p[rec.Key] == nil {
			p[rec.Key] = map[string][]place{}
		}
		machine := MachineOf(e.Dir())
		p[rec.Key][machine] = append(p[rec.Key][machine],
			place{results.Name{Slot: rec.Slot, Attempt: rec.Attempt}, rec.Pexec, e})
	}
	return p
}

// inOrderOf returns the places of a pair's executions. Each machine's are by number, and the
// attempts of a slot one after the other, as in the data set.
func (p places) inOrderOf(pair *dataset.Pair) []place {
	left := p[pair.Key]
	for machine, list := range left {
		slices.SortStableFunc(list, func(a, b place) int { return a.pexec - b.pexec })
		if len(left) == 1 {
			left = map[string][]place{machine: list, "": list}
			break
		}
	}
	order := make([]place, len(pair.Executions))
	for i, e := range pair.Executions {
		order[i] = left[e.Machine][0]
		left[e.Machine] = left[e.Machine][1:]
	}
	return order
}

// copies finds parts of an experiment that have the same records, such as a directory that was
// copied for a second machine: executions that are counted twice make everything look more certain
// than it is.
type copies map[started]string

// started identifies a process execution, in all directories.
type started struct {
	boot string
	pid  int
	at   time.Time
}

// part reads a directory. The error names the part that has the same record.
func (c *copies) part(r Reader, dir string, keep func(string) bool) (*dataset.Dataset, Experiment, error) {
	if *c == nil {
		*c = copies{}
	}
	var other string
	visit := r.visitPart
	r.visitPart = func(e Experiment, rec *results.Record) {
		if visit != nil {
			visit(e, rec)
		}
		id := started{rec.BootID, rec.Process.PID, rec.Started}
		if first, again := (*c)[id]; again && first != dir {
			other = first
		}
		if !rec.Started.IsZero() {
			(*c)[id] = dir
		}
	}
	d, e, err := r.part(dir, keep)
	if err == nil && other != "" {
		err = fmt.Errorf("%s: it has records of %s: one is a copy of the other, whose executions would "+
			"count twice; remove one", dir, other)
	}
	return d, e, err
}
