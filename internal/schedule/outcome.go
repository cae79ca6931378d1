package schedule

import "krund/internal/results"

// FlagOf is the flag of a slot whose latest attempt ended with outcome o. A rerun, and an outcome
// that this version does not know, leave it Outstanding: rather run once more than count what is
// not understood.
func FlagOf(o results.Outcome) Flag {
	switch o {
	case results.Completed:
		return Completed
	case results.Error:
		return Error
	case results.Timeout:
		return Timeout
	}
	return Outstanding
}
