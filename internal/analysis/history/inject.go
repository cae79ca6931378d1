package history

import "math"

// Injected says how often a slowdown would have been found, had it been in the data.
type Injected struct {
	Size float64 `json:"size"` // 0.01: 1 % slower
	Keys int     `json:"keys"` // of which some place could be tried
	// Within are numbers of versions, the first one with the slowdown included.
	Within []InjectedWithin `json:"within"`
}

// InjectedWithin is the share of the places in which it would have been found.
type InjectedWithin struct {
	Versions int     `json:"versions"`
	Places   int     `json:"places"` // tried
	Found    float64 `json:"found"`
}

// Inject replays the last level of each key with a slowdown that begins at some of its versions, in
// that key alone: a positive control of the history and its data.
func Inject(versions []Version, keys []Key, size float64, o Options) *Injected {
	const places = 20
	r := &Injected{Size: size, Within: []InjectedWithin{{Versions: 3}, {Versions: 5}, {Versions: 10},
		{Versions: 20}}}
	h := newHistory(versions, o)
	for _, d := range h.detect(keys) {
		longest := r.Within[len(r.Within)-1].Versions
		first, tried := max(d.begin, d.from-1)+clipFewest, false
		step := max(1, (len(d.points)-first)/places)
		for s := first; s < len(d.points); s += step {
			delay := d.delay(s, math.Log1p(size), longest)
			for i := range r.Within {
				w := &r.Within[i]
				if s+w.Versions > len(d.points) {
					continue
				}
				tried = true
				w.Places++
				w.Found += float64(number(delay > 0 && delay <= w.Versions))
			}
		}
		r.Keys += number(tried)
	}
	for i := range r.Within {
		r.Within[i].Found /= float64(max(r.Within[i].Places, 1))
	}
	return r
}
