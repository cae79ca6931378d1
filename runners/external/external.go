// Package external reads what an external suite prints: a program that measures
// its iterations itself and does not use libkrun. The protocol is Krun's. The
// suite is called with benchmark name, number of iterations, parameter and a
// flag, and prints one JSON object on stdout:
//
//	{"wallclock_times": [0.25, 0.125], "core_cycle_counts": [[9, 5], [8, 4]],
//	 "aperf_counts": [[7, 3], [6, 2]], "mperf_counts": [[7, 3], [6, 2]]}
//
// wallclock_times has the seconds of each iteration. The counts have a list per
// core of a number per iteration, or are empty. Exactly these four keys.
//
// [Parse] is strict: what it accepts is whole and consistent. It never runs
// anything and never repairs anything.
package external

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The keys of the object, all of them required.
const (
	keyWall   = "wallclock_times"
	keyCycles = "core_cycle_counts"
	keyAPERF  = "aperf_counts"
	keyMPERF  = "mperf_counts"
)

// maxSeconds bounds an iteration: nanoseconds of 146 years are within an int64.
const maxSeconds = float64(1<<62) / 1e9

// Result is what an external suite measured.
type Result struct {
	WallNS     []int64    // [iteration], nanoseconds, rounded to the nearest
	CoreCycles [][]uint64 // [core][iteration]; nil when not measured
	APERF      [][]uint64 // [core][iteration]; nil when not measured
	MPERF      [][]uint64 // [core][iteration]; nil when not measured
}

// Cores is the number of cores of the counts, 0 when there are none.
func (r Result) Cores() int { return max(len(r.CoreCycles), len(r.APERF), len(r.MPERF)) }

// Parse reads the whole stdout of a suite that was asked for a number of
// iterations, 1 or more. The error says what is wrong and where, in words for
// the author of the suite.
func Parse(stdout []byte, iterations int) (Result, error) {
	fields, err := object(stdout)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if r.WallNS, err = walls(fields[keyWall], iterations); err != nil {
		return Result{}, err
	}
	cores := 0
	for _, count := range []struct {
		key string
		to  *[][]uint64
	}{{keyCycles, &r.CoreCycles}, {keyAPERF, &r.APERF}, {keyMPERF, &r.MPERF}} {
		if *count.to, err = counts(count.key, fields[count.key], iterations); err != nil {
			return Result{}, err
		}
		switch n := len(*count.to); {
		case cores == 0:
			cores = n
		case n != 0 && n != cores:
			return Result{}, fmt.Errorf("%s has %d cores, another count has %d; all must have the same cores or be empty", count.key, n, cores)
		}
	}
	return r, nil
}

// walls converts the list of seconds.
func walls(raw json.RawMessage, iterations int) ([]int64, error) {
	var list []number
	if err := decodeList(keyWall, raw, &list); err != nil {
		return nil, err
	}
	if len(list) != iterations {
		return nil, fmt.Errorf("%s has %d numbers for %d iterations", keyWall, len(list), iterations)
	}
	out := make([]int64, len(list))
	for i, n := range list {
		seconds, err := strconv.ParseFloat(string(n), 64)
		if err != nil || seconds < 0 || seconds > maxSeconds {
			return nil, fmt.Errorf("%s[%d] is %s; want seconds, 0 or more", keyWall, i, quote(string(n)))
		}
		out[i] = int64(math.Round(seconds * 1e9))
	}
	return out, nil
}

// counts converts a list per core; nil for an empty one.
func counts(key string, raw json.RawMessage, iterations int) ([][]uint64, error) {
	var lists [][]number
	if err := decodeList(key, raw, &lists); err != nil {
		return nil, err
	}
	var out [][]uint64
	for core, list := range lists {
		if len(list) != iterations {
			return nil, fmt.Errorf("%s[%d] has %d numbers for %d iterations", key, core, len(list), iterations)
		}
		values := make([]uint64, len(list))
		for i, n := range list {
			v, err := strconv.ParseUint(string(n), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s[%d][%d] is %s; want a whole number of 64 bits, 0 or more", key, core, i, quote(string(n)))
			}
			values[i] = v
		}
		out = append(out, values)
	}
	return out, nil
}

// decodeList decodes a value that must be a list; null, which encoding/json
// takes for an empty one at any depth, is refused.
func decodeList(key string, raw json.RawMessage, to any) error {
	if strings.Contains(string(raw), "null") {
		return fmt.Errorf("%s contains null; want numbers, or [] when they were not measured", key)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%s is not the list it should be: %w", key, err)
	}
	return nil
}

// number is the text of a JSON number. json.Number would take a string too.
type number string

// UnmarshalJSON keeps the text of a number and refuses everything else.
func (n *number) UnmarshalJSON(raw []byte) error {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return fmt.Errorf("%s is not a number", quote(string(raw)))
	}
	*n = number(raw)
	return nil
}

// quote shortens text of the suite for a message.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
