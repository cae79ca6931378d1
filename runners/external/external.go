// Package external parses the output of an external suite: a program that measures its iterations
// itself and does not use libkrun. The protocol is Krun's. The suite is called with benchmark name,
// number of iterations, parameter and a flag, and prints one JSON object to stdout:
//
//	{"wallclock_times": [0.25, 0.125], "core_cycle_counts": [[9, 5], [8, 4]],
//	 "aperf_counts": [[7, 3], [6, 2]], "mperf_counts": [[7, 3], [6, 2]]}
//
// wallclock_times contains the seconds of each iteration. The counts contain one list per core with
// one number per iteration, or are empty. There must be exactly these four keys.
//
// A [Reader] takes the text in chunks as it arrives from the pipe and stores only numbers: its
// memory use does not depend on how much a suite prints. It is strict and accepts only complete and
// consistent output. It never runs or repairs anything. Whether the times are plausible is decided
// by krund's verdict, which knows the lifetime of the process. Start reading at [Reader].
package external

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The keys of the object. All of them are required.
const (
	keyWall   = "wallclock_times"
	keyCycles = "core_cycle_counts"
	keyAPERF  = "aperf_counts"
	keyMPERF  = "mperf_counts"
)

// keys has the keys in the order of Reader.lists.
var keys = [...]string{keyWall, keyCycles, keyAPERF, keyMPERF}

// The limits of what a suite may print. Legitimate suites stay far below: 2000 iterations with
// three counts on 128 cores are 768,000 counts and 16 MB.
const (
	MaxBytes  = 256 << 20 // on stdout, white space included
	MaxCounts = 1 << 21   // total number of counts
	maxCores  = 8192      // the maximum that Linux supports
	maxToken  = 64        // characters of a number or key
)

// maxSeconds bounds an iteration: 146 years in nanoseconds fit an int64.
const maxSeconds = float64(1<<62) / 1e9

// Result is the measurement of an external suite.
type Result struct {
	WallNS     []int64    // [iteration], nanoseconds, rounded to the nearest
	CoreCycles [][]uint64 // [core][iteration]; nil when not measured
	APERF      [][]uint64 // [core][iteration]; nil when not measured
	MPERF      [][]uint64 // [core][iteration]; nil when not measured
}

// Cores returns the number of cores with counts, 0 if there are none.
func (r Result) Cores() int { return max(len(r.CoreCycles), len(r.APERF), len(r.MPERF)) }

// Result ends the input and returns the result. The error tells the author of the suite what is
// wrong and where.
func (r *Reader) Result() (Result, error) {
	if err := r.finish(); err != nil {
		return Result{}, err
	}
	out := Result{WallNS: r.walls, CoreCycles: r.counts[0], APERF: r.counts[1], MPERF: r.counts[2]}
	cores := 0
	for i, count := range r.counts {
		switch n := len(count); {
		case cores == 0:
			cores = n
		case n != 0 && n != cores:
			return Result{}, fmt.Errorf("%s has %d cores, another count has %d; "+
				"all must have the same cores or be empty", keys[1+i], n, cores)
		}
	}
	return out, nil
}

// finish returns the error of the complete text.
func (r *Reader) finish() error {
	switch {
	case r.err != nil:
		return r.err
	case r.state == inQuote: // the text ended within the excerpt for the message
		return r.explain()
	case r.state == atStart:
		return errors.New("nothing on stdout; want one JSON object")
	case r.state != atEnd:
		return r.at(errors.New("it is incomplete (was the output truncated?)"))
	}
	var missing []string
	for i, key := range keys {
		if !r.seen[i] {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the JSON object on stdout lacks %s", strings.Join(missing, ", "))
	}
	return nil
}

// wall converts the seconds of iteration i.
func wall(i int, number []byte) (int64, error) {
	seconds, err := strconv.ParseFloat(string(number), 64)
	if err != nil || seconds < 0 || seconds > maxSeconds {
		return 0, fmt.Errorf("%s[%d] is %s; want seconds, 0 or more", keyWall, i, quote(number))
	}
	return int64(math.Round(seconds * 1e9)), nil
}

// count converts a core's count of iteration i.
func count(key string, core, i int, number []byte) (uint64, error) {
	v, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s[%d][%d] is %s; want a whole number of 64 bits, 0 or more",
			key, core, i, quote(number))
	}
	return v, nil
}

// quote shortens text of the suite for a message.
func quote(s []byte) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(string(s[:most])) + "..."
	}
	return strconv.Quote(string(s))
}
