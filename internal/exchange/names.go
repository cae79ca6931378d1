package exchange

import (
	"cmp"
	"fmt"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/key"
)

// PlainName converts another tool's name of a benchmark to a valid name in a key: each character
// that krund does not allow becomes "_". Names may be longer than krund's.
func PlainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-.+", r) {
			return r
		}
		return '_'
	}, s)
	return cmp.Or(s, "_")
}

// mostName limits the name of a benchmark, a VM, a variant or a column, in bytes. It may be a
// command line of hyperfine.
const mostName = 4000

// tooLong returns an error for a name that exceeds the limit.
func tooLong(what, name string) error {
	if len(name) <= mostName {
		return nil
	}
	return fmt.Errorf("the %s %.40q... has %d bytes; names have at most %d: is the file what it seems?",
		what, name, len(name), mostName)
}

// namer assigns different keys to different names of another tool.
type namer struct {
	vm, variant string
	given       map[string]key.Key
	taken       map[key.Key]int // how often it was asked for
}

func newNamer(o ImportOptions, vm string) *namer {
	n := &namer{vm: PlainName(cmp.Or(o.VM, vm)), variant: PlainName(cmp.Or(o.Variant, "default"))}
	n.given, n.taken = map[string]key.Key{}, map[key.Key]int{}
	return n
}

// key returns the key of a name: always the same one for the same name.
func (n *namer) key(name string) key.Key {
	if k, ok := n.given[name]; ok {
		return k
	}
	plain := PlainName(display.Clip(name, mostName))
	k := key.Key{Benchmark: plain, VM: n.vm, Variant: n.variant}
	for first := k; n.taken[k] > 0; {
		n.taken[first]++
		k.Benchmark = fmt.Sprintf("%s_%d", plain, n.taken[first])
	}
	n.given[name], n.taken[k] = k, 1
	return k
}

// ImportOptions supply what other tools' files lack.
type ImportOptions struct {
	VM      string // "": taken from the file if present, else the tool's name
	Variant string // "": "default"
}

// timeUnits maps names of units of time to the number of units per second.
var timeUnits = map[string]float64{
	"s": 1, "second": 1, "sec": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1. / 60, "hr": 1. / 3600,
	"day": 1. / 86400,
}

// inSeconds converts times to seconds. ok is false when unit is not a unit of time.
func inSeconds(values []float64, unit string) (seconds []float64, ok bool) {
	per, ok := timeUnits[unit]
	if !ok {
		return values, false
	}
	seconds = make([]float64, len(values))
	for i, v := range values {
		seconds[i] = v / per
	}
	return seconds, true
}

// wallOf builds the column of measured values: seconds for times, else the values unchanged with
// their unit.
func wallOf(values []float64, unit string) dataset.Column {
	c := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore}
	var ok bool
	if c.Reals, ok = inSeconds(values, unit); !ok {
		c.Unit = unit
	}
	return c
}
