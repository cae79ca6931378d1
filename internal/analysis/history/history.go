// Package history finds when the speed of a key changed over the versions of a program.
//
// A version has some process executions of each key. Their mean, on a logarithmic scale, is one
// value: what differs between versions without a change, such as the layout of each build or the
// day of the measurement, is noise as well, so that a version is the unit of inference, and the
// differences between executions are a lower bound of its variance.
//
// The history is looked at after each version. For each earlier version an e-value measures the
// evidence that the level changed there; their sum is a Shiryaev-Roberts e-detector (Shin, Ramdas
// and Rinaldo 2022, "E-detectors: a nonparametric framework for sequential change detection"). It
// alerts when the sum reaches the number of keys divided by the rate of false alerts, so that all
// keys together have at most that rate per version on average, however often one looks. After an
// alert it is armed again, on the new level.
//
// What is found up to a version depends on no later version. Start reading at [Of]; detect.go has
// the detector, estimate.go sizes and intervals. docs/history.md explains the choices.
package history

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/experiment/key"
)

// Options of Of. The zero value is valid.
type Options struct {
	Rate       float64 // expected false alerts per version over all keys, at most; 0: DefaultRate
	Confidence float64 // of the intervals; 0: DefaultConfidence
	Mutes      []Mute
	States     []State // that machines are known to have had, beside those of this history
	Replaced   []Seam  // by Replace
}

// Defaults of Options.
const (
	DefaultRate       = 0.01
	DefaultConfidence = 0.95
)

// Mute silences alerts. What it silences is still found, and armed again.
type Mute struct {
	Key     string `json:"key"`               // as in Key.Name; "": every key
	Version string `json:"version,omitempty"` // found there, or a possible culprit; "": every version
	Reason  string `json:"reason,omitempty"`
}

// Sources of labels.
const (
	SourceRevision = "revision" // of an arm
	SourceName     = "name"     // of the experiment, and of its first arm
	SourceArm      = "arm"      // another arm without a revision: no step in time
)

// Version is a version of the program that was measured.
type Version struct {
	Label  string `json:"label"`
	Source string `json:"source"` // where the label is from: one of the sources, or "list"
	// Revision of the program, if it is known. Nights of one revision are versions of their own.
	Revision string `json:"revision,omitempty"`
}

// Key is a key on one machine with its executions.
type Key struct {
	Name    string `json:"key"`
	Machine string `json:"machine,omitempty"` // "" if all keys are from the same machine
	// Control: its program does not change; when its speed does, the machine did.
	Control bool `json:"control,omitempty"`
	// Values of each version, one per execution; none if the version was not measured.
	Values [][]float64 `json:"values"`

	seams []conversion // of each version; nil: none
}

// Parsed is the key's name; a name that is none of krund is that of a benchmark.
func (k Key) Parsed() key.Key {
	parsed, err := key.Parse(k.Name)
	if err != nil {
		parsed = key.Key{Benchmark: k.Name}
	}
	return parsed
}

// Values are what a history is made from.
type Values struct {
	Unit     string    `json:"unit"` // of the values
	Versions []Version `json:"versions"`
	Keys     []Key     `json:"keys"`
}

// History are the keys over the versions.
type History struct {
	Versions   []Version    `json:"versions"`
	Rate       float64      `json:"rate"`
	Confidence float64      `json:"confidence"`
	Events     []Event      `json:"events"` // what happened, in the order in which it was found
	Keys       []KeyHistory `json:"keys"`
	Replaced   []Seam       `json:"replaced,omitempty"`

	states []State
}

// KeyHistory is a key over the versions.
type KeyHistory struct {
	Key     string   `json:"key"`
	Machine string   `json:"machine,omitempty"`
	Points  []Point  `json:"points"`
	Levels  []Level  `json:"levels"`
	Changes []Change `json:"changes"` // in the order of the versions
	// Detectable is the relative slowdown that would be found within five versions, at even odds,
	// if versions as those of the last level followed with it; 0: there are too few of them, or
	// the key drifts.
	Detectable float64 `json:"detectable,omitempty"`
	// Needed are the fewest versions of a level with which a change can be found at all; 0 if there
	// are as many, or the key drifts.
	Needed int `json:"needed,omitempty"`
	// Autocorrelation is the rank correlation of neighboring versions of a level; 0 if it is not
	// significant. If it is, the key drifts: changes need more evidence, and intervals are wider.
	Autocorrelation float64 `json:"autocorrelation,omitempty"`
	// States are those of the last level with enough executions; nil: none can be told.
	States *States `json:"states,omitempty"`
	Reason string  `json:"reason,omitempty"` // why the key was not examined
}

// Point is a version of a key: the geometric mean of its executions, with the interval of what the
// level of such a version can be.
type Point struct {
	Version    int     `json:"version"` // index in History.Versions
	Executions int     `json:"executions"`
	Value      float64 `json:"value"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`

	offset float64 // of the point
}

// Level is the mean of the versions between two changes.
type Level struct {
	From  int     `json:"from"` // indexes of the first and last version
	To    int     `json:"to"`
	Value float64 `json:"value"`
}

// Change is an alert: the level of a key changed.
type Change struct {
	// Version is the one at which the change most probably happened: an index in History.Versions,
	// as First, Last and Found. It happened after version First-1 and not after Last, with the
	// confidence of the history. Found is the version with which the alert was raised; with the
	// key it identifies the alert.
	Version int `json:"version"`
	First   int `json:"first"`
	Last    int `json:"last"`
	Found   int `json:"found"`

	Before float64 `json:"before"` // levels
	After  float64 `json:"after"`
	Ratio  float64 `json:"ratio"` // of the levels, with its interval
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	LogE   float64 `json:"log_e"` // evidence with which it was found

	Muted      bool   `json:"muted"`
	MuteReason string `json:"mute_reason,omitempty"`
	// Controls are the negative controls that changed, in the same direction, where this key may
	// have changed: then the machine may be the cause.
	Controls []string `json:"controls,omitempty"`

	group int // see found
}

// newHistory returns an empty history, with the defaults of the options.
func newHistory(versions []Version, o Options) *History {
	h := &History{Versions: versions, Rate: o.Rate, Confidence: o.Confidence, Keys: []KeyHistory{},
		Events: []Event{}, states: o.States, Replaced: o.Replaced}
	if h.Rate == 0 {
		h.Rate = DefaultRate
	}
	if h.Confidence == 0 {
		h.Confidence = DefaultConfidence
	}
	return h
}

// Of finds the changes of keys over versions; Values of each key are in the order of versions.
func Of(versions []Version, keys []Key, o Options) *History {
	h, detectors := changes(versions, keys, o)
	for _, d := range detectors {
		h.Keys[d.key].promise(d)
	}
	return h
}

// changes is Of without what could have been found, which takes most of its time.
func changes(versions []Version, keys []Key, o Options) (*History, []*detector) {
	h := newHistory(versions, o)
	detectors := h.detect(keys)
	for _, d := range detectors {
		k := &h.Keys[d.key]
		k.describe(d, h.Confidence)
		k.States = statesOf(k.Levels, keys[d.key].converted())
	}
	h.blameMachine(keys)
	for i := range h.Keys {
		k := &h.Keys[i]
		for j := range k.Changes {
			h.mute(k.Key, &k.Changes[j], o.Mutes)
		}
	}
	h.events(keys)
	return h, detectors
}

// detect finds the changes of all keys, machine by machine, and returns what looked for them.
func (h *History) detect(keys []Key) []*detector {
	var all []*detector
	var machines []string
	of := map[string][]int{}
	for i, k := range keys {
		if of[k.Machine] == nil {
			machines = append(machines, k.Machine)
		}
		of[k.Machine] = append(of[k.Machine], i)
		h.Keys = append(h.Keys, KeyHistory{Key: k.Name, Machine: k.Machine, Points: []Point{},
			Levels: []Level{}, Changes: []Change{}})
	}
	groups := 0
	for _, list := range of {
		groups += arith.One(len(list) >= fewestKeys)
	}
	alone, together := thresholds(len(h.Versions), keys, h.Rate), 0.0
	if groups > 0 { // half of the rate is for groups, and half for the keys by themselves
		together = math.Log(2 * float64(groups) / h.Rate)
		for v := range alone {
			alone[v] += math.Ln2
		}
	}
	for _, m := range machines {
		g := group{threshold: together, from: 1}
		for _, i := range of[m] {
			var points []point
			if points, h.Keys[i].Reason = keys[i].points(alone); h.Keys[i].Reason == "" {
				g.keys = append(g.keys, &detector{key: i, all: points, from: 1})
			}
		}
		g.run(len(h.Versions))
		g.lower()
		all = append(all, g.keys...)
	}
	return all
}

// Alerts returns the number of changes that are not muted.
func (h *History) Alerts() int {
	n := 0
	for _, k := range h.Keys {
		for _, c := range k.Changes {
			if !c.Muted {
				n++
			}
		}
	}
	return n
}

// thresholds returns, for each version, the logarithm of the sum of e-values that is an alert: the
// number of keys that have been measured so far, divided by the rate.
func thresholds(versions int, keys []Key, rate float64) []float64 {
	list := make([]float64, versions)
	seen := make([]bool, len(keys))
	known := 0
	for v := range versions {
		for i, k := range keys {
			if !seen[i] && len(k.Values[v]) > 0 {
				seen[i] = true
				known++
			}
		}
		list[v] = math.Log(float64(max(known, 1)) / rate)
	}
	return list
}

// points reduces a key to one point per version, or says why it cannot be examined.
func (k Key) points(thresholds []float64) (list []point, reason string) {
	for _, values := range k.Values {
		if slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) }) {
			return nil, "a value is not positive, so that no change is a percentage of it"
		}
	}
	if list = pointsOf(k.Values, thresholds); len(list) == 0 {
		return nil, "it has no completed execution"
	}
	for i := range list {
		if p := &list[i]; k.seams != nil {
			p.x, p.offset = p.x+k.seams[p.version].shift, k.seams[p.version].offset
		}
	}
	return list, ""
}

// pointsOf reduces the executions of each version to a point.
func pointsOf(values [][]float64, thresholds []float64) []point {
	var points []point
	var ticks rounding
	for v, list := range values {
		n := float64(len(list))
		if n == 0 {
			continue
		}
		p := point{version: v, executions: len(list), weight: 2 * n / (n + usual),
			threshold: thresholds[v]}
		for i, value := range list {
			x := math.Log(value)
			ticks.add(x)
			delta := x - p.x
			p.x += delta / float64(i+1)
			p.noise += delta * (x - p.x)
		}
		p.noise /= n * max(n-1, 1)
		p.floor = ticks.variance()
		points = append(points, p)
	}
	return points
}

// usual is the number of executions of a version whose weight is 1. The weight assumes that such a
// version differs from others as much as its mean differs from what more executions would give;
// which of the two is larger is not known before many versions were measured.
const usual = 5

// rounding collects values to find the smallest difference between two of them; see
// compare.Rounding.
type rounding struct {
	sorted []float64
	step   float64 // 0: all are equal
}

func (r *rounding) add(x float64) {
	i, equal := slices.BinarySearch(r.sorted, x)
	if equal {
		return
	}
	for _, j := range []int{i - 1, i} {
		if j >= 0 && j < len(r.sorted) {
			if d := math.Abs(x - r.sorted[j]); r.step == 0 || d < r.step {
				r.step = d
			}
		}
	}
	r.sorted = slices.Insert(r.sorted, i, x)
}

func (r *rounding) variance() float64 { return compare.Rounding([]float64{0, r.step}) }

// blameMachine fills in Change.Controls.
func (h *History) blameMachine(keys []Key) {
	for i := range keys {
		if !keys[i].Control {
			continue
		}
		for _, own := range h.Keys[i].Changes {
			for j := range h.Keys {
				if keys[j].Control || keys[j].Machine != keys[i].Machine {
					continue
				}
				for l := range h.Keys[j].Changes {
					c := &h.Keys[j].Changes[l]
					if c.First <= own.Last && own.First <= c.Last && (c.Ratio > 1) == (own.Ratio > 1) {
						c.Controls = append(c.Controls, keys[i].Name)
					}
				}
			}
		}
	}
}

// mute fills in Muted.
func (h *History) mute(key string, c *Change, mutes []Mute) {
	for _, m := range mutes {
		at := m.Version == ""
		for v := range h.Versions {
			if h.Versions[v].Label == m.Version && (v == c.Found || v >= c.First && v <= c.Last) {
				at = true
			}
		}
		if at && (m.Key == "" || m.Key == key) {
			c.Muted, c.MuteReason = true, m.Reason
			return
		}
	}
}
