package schedule

import "krund/internal/results"

// FlagOf returns the flag of a slot whose latest attempt ended with outcome o. A rerun leaves it
// Outstanding, and so does an unknown outcome: one execution too many is better than counting an
// outcome that is not understood.
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
