package schedule

import "krund/internal/experiment/results"

// FlagOf returns the flag of a slot whose latest attempt ended with outcome o. A rerun, or an
// outcome unknown to this version, leaves the slot Outstanding: running it once more is better than
// counting an unknown outcome.
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
