package noise

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gap is a time in which the spinning thread did not run.
type gap struct {
	start, length time.Duration // start counts from the begin of the spin
	preempted     bool          // another thread ran
}

// spun is what one thread of runners/noise/spin.c reports: sums of all gaps, and the longest ones.
type spun struct {
	time, lost, longest time.Duration
	gaps                int64
	preempted           int64 // gaps in which another thread ran
	preemptedTime       time.Duration
	classes             []class // of the other gaps
	list                []gap
}

// class are the gaps of a length from least to twice that in which no other thread ran.
type class struct {
	least time.Duration
	gaps  int64
	lost  time.Duration
}

// spinner is the process that reported.
type spinner struct{ pid, nice int }

// The most that parseSpin accepts: what spin.c prints for as many CPUs as Linux supports.
const (
	mostCPUs    = 8192
	mostGaps    = 5000 // of a CPU
	mostClasses = 24   // of its gaps, by length
)

// parseSpin reads the output of spin.c. Every CPU in the result has its line of sums.
func parseSpin(text string) (all map[int]spun, who spinner, err error) {
	all, complete := map[int]spun{}, map[int]bool{}
	bad := func(line string) (map[int]spun, spinner, error) {
		return nil, spinner{}, fmt.Errorf("spin printed %.80q", line)
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 5 {
			return bad(line)
		}
		var n [4]int64
		for i := range n {
			v, err := strconv.ParseInt(fields[i+1], 10, 64)
			isNice := fields[0] == "pid" && i == 1
			if err != nil || v < 0 && !isNice || isNice && (v < -20 || v > 19) {
				return bad(line)
			}
			n[i] = v
		}
		if fields[0] == "pid" && n[0] <= math.MaxInt32 {
			who = spinner{int(n[0]), int(n[1])}
			continue
		}
		cpu := int(n[0])
		s := all[cpu]
		switch {
		case n[0] >= mostCPUs || complete[cpu]:
			return bad(line)
		case fields[0] == "class" && len(s.classes) < mostClasses:
			s.classes = append(s.classes, class{time.Duration(n[1]), n[2], time.Duration(n[3])})
		case fields[0] == "most":
			s.longest, s.preempted, s.preemptedTime = time.Duration(n[1]), n[2], time.Duration(n[3])
		case fields[0] == "gap" && len(s.list) < mostGaps:
			s.list = append(s.list, gap{time.Duration(n[1]), time.Duration(n[2]), n[3] != 0})
		case fields[0] == "cpu" && n[1] > 0:
			s.time, s.gaps, s.lost = time.Duration(n[1]), n[2], time.Duration(n[3])
			complete[cpu] = true
		default:
			return bad(line)
		}
		all[cpu] = s
	}
	if len(all) == 0 || len(all) != len(complete) {
		return nil, who, errors.New("the output of spin is incomplete")
	}
	return all, who, nil
}

// Bounds of a period: at least this many gaps, and half of the distances this close to the median.
const (
	leastBeats   = 8
	beatAccuracy = 0.1
)

// period returns the distance of the gaps that matter if they recur regularly, else 0. The gaps
// that matter are at least half as long as the one at which the longest gaps together make half of
// the time lost.
func period(list []gap) time.Duration {
	byLength := slices.Clone(list)
	slices.SortFunc(byLength, func(a, b gap) int { return cmp.Compare(b.length, a.length) })
	var lost, sum, least time.Duration
	for _, g := range list {
		lost += g.length
	}
	for _, g := range byLength {
		if sum += g.length; sum >= lost/2 {
			least = g.length / 2
			break
		}
	}
	var starts []time.Duration
	for _, g := range list {
		if g.length >= least {
			starts = append(starts, g.start)
		}
	}
	slices.Sort(starts)
	var steps []time.Duration
	for i := 1; i < len(starts); i++ {
		steps = append(steps, starts[i]-starts[i-1])
	}
	if len(steps) < leastBeats {
		return 0
	}
	slices.Sort(steps)
	middle, spread := steps[len(steps)/2], steps[len(steps)*3/4]-steps[len(steps)/4]
	if spread.Seconds() > 2*beatAccuracy*middle.Seconds() {
		return 0
	}
	return middle
}
