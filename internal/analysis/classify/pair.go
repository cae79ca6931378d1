package classify

// PairClass is the class of a pair: the common class of its process executions, or inconsistent.
type PairClass string

// The inconsistent classes. None is the class of a pair without classified executions.
const (
	GoodInconsistent PairClass = "good inconsistent" // only flat and warmup (=)
	BadInconsistent  PairClass = "bad inconsistent"  // any other mixture (×)
	None             PairClass = ""
)

// Counts is the number of executions in each class.
type Counts struct {
	Flat          int `json:"flat"`
	Warmup        int `json:"warmup"`
	Slowdown      int `json:"slowdown"`
	NoSteadyState int `json:"no_steady_state"`
}

// Count counts the classes and ignores anything else.
func Count(classes []Class) Counts {
	var c Counts
	for _, class := range classes {
		switch class {
		case Flat:
			c.Flat++
		case Warmup:
			c.Warmup++
		case Slowdown:
			c.Slowdown++
		case NoSteadyState:
			c.NoSteadyState++
		}
	}
	return c
}

// Of returns the count of one class.
func (c Counts) Of(class Class) int {
	switch class {
	case Flat:
		return c.Flat
	case Warmup:
		return c.Warmup
	case Slowdown:
		return c.Slowdown
	case NoSteadyState:
		return c.NoSteadyState
	}
	return 0
}

// Total is the number of classified executions.
func (c Counts) Total() int { return c.Flat + c.Warmup + c.Slowdown + c.NoSteadyState }

// Class returns the pair's class.
func (c Counts) Class() PairClass {
	total := c.Total()
	if total == 0 {
		return None
	}
	for _, class := range Classes {
		if c.Of(class) == total {
			return PairClass(class)
		}
	}
	if c.Flat+c.Warmup == total {
		return GoodInconsistent
	}
	return BadInconsistent
}

// Symbol is the study's sign for a pair's class in plain text: "-" flat, "\" warmup, "/" slowdown,
// "~" no steady state, "=" and "x" inconsistent.
func (p PairClass) Symbol() string {
	switch p {
	case PairClass(Flat):
		return "-"
	case PairClass(Warmup):
		return `\`
	case PairClass(Slowdown):
		return "/"
	case PairClass(NoSteadyState):
		return "~"
	case GoodInconsistent:
		return "="
	case BadInconsistent:
		return "x"
	}
	return ""
}
