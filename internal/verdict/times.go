package verdict

import (
	"fmt"
	"math"
	"time"
)

// krund measures how long the process lives, from before its start until after its end, so that the
// iterations together cannot take longer. They may seem to, by little: the kernel slews krund's
// clock to the right time by up to 500 millionths, but not libkrun's, and a suite that prints whole
// milliseconds may have rounded each of them up.
const (
	slewFraction  = 1.0 / 1000 // twice what the kernel slews, of the process's time
	coarsestUnit  = 1_000_000  // nanoseconds: rounding to more than milliseconds is not forgiven
	unitFactor    = 1000       // from one unit to the next: s, ms, us, ns
	leastLifetime = time.Second
)

// tooLong returns why the iterations cannot have taken as long as claimed; "" if they can, or if
// the lifetime of the process is unknown.
func (e Execution) tooLong() string {
	if e.Lifetime <= 0 {
		return ""
	}
	sum, most := e.sum(), e.mostTogether()
	if sum <= most {
		return ""
	}
	why := fmt.Sprintf("the %d iterations are said to take %s together, but the process lived for %s",
		len(e.WallNS), seconds(sum), seconds(float64(e.Lifetime)))
	if !e.External {
		return why + ": the buffer was not filled by libkrun alone"
	}
	for i, name := range []string{"milliseconds", "microseconds", "nanoseconds"} {
		factor := math.Pow(unitFactor, float64(i+1))
		if sum/factor <= most && sum/factor*100 >= most {
			return why + "; does the suite print " + name + " where seconds are wanted?"
		}
	}
	return why
}

// doubts returns remarks about times that may be right. They change no outcome.
func (e Execution) doubts() []string {
	var remarks []string
	var zero some
	for i, ns := range e.WallNS {
		if ns == 0 {
			zero.add(i)
		}
	}
	if zero.n > 0 {
		remarks = append(remarks, "the time is 0 ns "+CounterRun{WallNS: e.WallNS}.in(zero)+
			": shorter than its clock can tell, or not measured")
	}
	if text := e.tooShort(); text != "" {
		remarks = append(remarks, text)
	}
	return remarks
}

// tooShort recognizes times of a suite that are too small by a factor between units. Most of a
// process that lives for a second or more should be its iterations. A long start-up can reduce that
// share, so little time alone proves nothing. Times are remarked on if a thousand, a million or a
// billion times as much would fill between half and the whole of the process's life, which is
// unlikely by chance.
func (e Execution) tooShort() string {
	sum, most := e.sum(), e.mostTogether()
	if !e.External || e.Lifetime < leastLifetime || sum == 0 {
		return ""
	}
	for i := range 3 {
		factor := math.Pow(unitFactor, float64(i+1))
		if all := sum * factor; all <= most && all >= most/2 {
			return fmt.Sprintf("the iterations take %s of the process's %s, and %.0f times as much would "+
				"fill it: "+
				"does the suite print seconds?", seconds(sum), seconds(float64(e.Lifetime)), factor)
		}
	}
	return ""
}

// sum returns the time of all iterations in nanoseconds. A negative time does not compensate for
// others.
func (e Execution) sum() float64 {
	sum := 0.0
	for _, ns := range e.WallNS {
		sum += float64(max(ns, 0))
	}
	return sum
}

// mostTogether returns an upper bound of the time of all iterations together, in nanoseconds.
func (e Execution) mostTogether() float64 {
	unit := int64(coarsestUnit)
	for _, ns := range e.WallNS {
		for ns%unit != 0 {
			unit /= unitFactor
		}
	}
	return float64(e.Lifetime)*(1+slewFraction) + float64(len(e.WallNS))*float64(unit)
}

func seconds(ns float64) string { return fmt.Sprintf("%.3g s", ns/1e9) }
