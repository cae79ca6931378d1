package verdict

import (
	"fmt"
	"math"
	"time"
)

// krund measures the lifetime of the process from before its start until after its end, so the
// iterations cannot take longer in total. They may seem to take slightly longer: krund's clock is
// slewed to the correct time and libkrun's is not, by up to 500 ppm, and a suite that prints whole
// milliseconds may have rounded each of them up.
const (
	slewFraction  = 1.0 / 1000 // fraction of the process's lifetime: twice the kernel's maximum slew
	coarsestUnit  = 1_000_000  // nanoseconds: rounding to units coarser than milliseconds is not tolerated
	unitFactor    = 1000       // between adjacent units: s, ms, us, ns
	leastLifetime = time.Second
)

// tooLong returns why the iterations cannot have taken as long as reported, or "" if they can or if
// the lifetime of the process is unknown.
func (e Evidence) tooLong() string {
	if e.Lifetime <= 0 {
		return ""
	}
	sum, most := e.sum(), e.mostTogether()
	if sum <= most {
		return ""
	}
	why := fmt.Sprintf("the %d iterations reportedly took %s in total, but the process lived for %s",
		len(e.WallNS), seconds(sum), seconds(float64(e.Lifetime)))
	if !e.External {
		return why + ": the buffer was not written by libkrun alone"
	}
	for i, name := range []string{"milliseconds", "microseconds", "nanoseconds"} {
		factor := math.Pow(unitFactor, float64(i+1))
		if sum/factor <= most && sum/factor*100 >= most {
			return why + "; does the suite print " + name + " instead of seconds?"
		}
	}
	return why
}

// doubts returns remarks about suspicious times that may be right. They do not change the outcome.
func (e Evidence) doubts() []string {
	var remarks []string
	var zero some
	for i, ns := range e.WallNS {
		if ns == 0 {
			zero.add(i)
		}
	}
	if zero.n > 0 {
		remarks = append(remarks, "the time is 0 ns "+CounterRun{WallNS: e.WallNS}.in(zero)+
			": shorter than the resolution of its clock, or not measured")
	}
	if text := e.tooShort(); text != "" {
		remarks = append(remarks, text)
	}
	return remarks
}

// tooShort detects times of a suite that are too small by the factor between two units. Most of the
// lifetime of a process that runs for a second or more should be spent in its iterations.
// Exceptions are common if start-up is slow, so a small total alone means nothing. tooShort
// therefore remarks on times that, multiplied by a thousand, a million or a billion, would fill
// between half and all of the process's lifetime, which rarely happens by chance.
func (e Evidence) tooShort() string {
	sum, most := e.sum(), e.mostTogether()
	if !e.External || e.Lifetime < leastLifetime || sum == 0 {
		return ""
	}
	for i := range 3 {
		factor := math.Pow(unitFactor, float64(i+1))
		if all := sum * factor; all <= most && all >= most/2 {
			return fmt.Sprintf("the iterations take %s of the process's %s, and %.0f times that would fill "+
				"it: does the suite print seconds?", seconds(sum), seconds(float64(e.Lifetime)), factor)
		}
	}
	return ""
}

// sum returns the total time of all iterations in nanoseconds. Negative times do not offset others.
func (e Evidence) sum() float64 {
	sum := 0.0
	for _, ns := range e.WallNS {
		sum += float64(max(ns, 0))
	}
	return sum
}

// mostTogether returns the maximum plausible total of the iterations in nanoseconds.
func (e Evidence) mostTogether() float64 {
	unit := int64(coarsestUnit)
	for _, ns := range e.WallNS {
		for ns%unit != 0 {
			unit /= unitFactor
		}
	}
	return float64(e.Lifetime)*(1+slewFraction) + float64(len(e.WallNS))*float64(unit)
}

func seconds(ns float64) string { return fmt.Sprintf("%.3g s", ns/1e9) }
