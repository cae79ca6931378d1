package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

// ErrTemperature is the error if the machine does not return to its base temperatures in time.
var ErrTemperature = errors.New("the machine does not return to its base temperatures")

// ErrNoSensors is the error if no sensor is left to compare with the base.
var ErrNoSensors = errors.New("none of the temperature sensors that the experiment began with can be read")

// GateSettings define when a machine has returned to its initial temperatures. The study used 3
// degrees around the temperatures at the first start, for at most an hour.
type GateSettings struct {
	Tolerance float64       // degrees Celsius in either direction
	Timeout   time.Duration // of real time
	// patterns of sensors that count ("*" also matches slashes); empty: those of the processor, or
	// all where none is known to be one
	Sensors []string
}

// processorSensors are patterns of sensors that a busy processor heats within a bout: hwmon's
// drivers by their names (drivers/hwmon of Linux 6.12: coretemp, k8temp, k10temp, via-cputemp;
// zenpower is not in the kernel), thermal zones by their types, OpenBSD's cpu(4).
var processorSensors = []string{"coretemp@*", "k8temp@*", "k10temp@*", "zenpower@*", "via_cputemp@*",
	"cpu*", "soc*@*", "zone@x86_pkg_temp*", "zone@TCPU*", "zone@cpu*", "zone@soc*"}

// counting returns the patterns of the sensors of base that count.
func (s GateSettings) counting(base []results.Temperature) []string {
	isProcessor := func(b results.Temperature) bool { return matchAny(processorSensors, b.Sensor) }
	if len(s.Sensors) == 0 && slices.ContainsFunc(base, isProcessor) {
		return processorSensors
	}
	return s.Sensors
}

// pollPause is the time between two readings of the gate, heatBout the duration of a bout of
// heating. The study's tool polled every 10 seconds; a package warms by about a degree in that
// time.
const (
	pollPause = 10 * time.Second
	heatBout  = 10 * time.Second
)

// blindLooks is the number of consecutive failed readings of all sensors after which they count as
// missing if they are required: drivers occasionally return EAGAIN, which must not end an
// experiment of several weeks. It corresponds to a minute.
const blindLooks = 7

// A Gate delays a run until the machine has returned to its base temperatures.
type Gate struct {
	Clock sysroot.Clock
	Read  func(context.Context) Temperatures
	Heat  func(context.Context, time.Duration) error // keeps the processor busy; nil only waits
	// a gate without any sensor to wait for stays shut: ErrNoSensors, a minute later
	Demand bool
}

// A GateResult is what happened at the gate.
type GateResult struct {
	Waited  time.Duration // total wait
	Heated  int           // bouts of heating
	Last    Temperatures  // the readings that opened the gate, or the last ones before it gave up
	Remarks []string      // sensors that disappeared since the base was taken
}

// Wait returns once every relevant sensor is within the tolerance of its base. If the timeout
// expires first, the error wraps ErrTemperature. A machine that is too cold somewhere and too hot
// nowhere is heated; otherwise it cools down while waiting. Sensors that have a base but are
// missing now, or vanish during the wait, are ignored with a remark. Only a sensor that the
// processor heats is a reason to heat it, where it is known which these are. Without any common
// sensor the gate is open, because there is nothing to wait for, unless sensors are required.
func (g Gate) Wait(ctx context.Context, base []results.Temperature, s GateSettings) (GateResult, error) {
	start := g.Clock.Now()
	var r GateResult
	blind := 0
	for {
		r.Last = g.Read(ctx)
		d := Compare(base, r.Last.Readings, s)
		r.Remarks = d.remarks()
		r.Waited = g.Clock.Now().Sub(start)
		if g.Demand && d.Within+len(d.Hot)+len(d.Cold) == 0 {
			if blind++; blind == blindLooks || len(d.Missing) == 0 {
				return r, fmt.Errorf("%w (%s)", ErrNoSensors, strings.Join(d.Missing, ", "))
			}
			if err := g.Clock.Sleep(ctx, pollPause); err != nil {
				return r, err
			}
			continue
		}
		blind = 0
		if len(d.Hot)+len(d.Cold) == 0 {
			return r, nil
		}
		if r.Waited >= s.Timeout {
			return r, fmt.Errorf("%w within %s: %s; move the machine to a place with a steady temperature, "+
				"or choose other sensors in [temperature]",
				ErrTemperature, s.Timeout, d)
		}
		if err := g.pass(ctx, d, &r); err != nil {
			return r, err
		}
	}
}

// pass waits, and heats if the only deviation is that sensors are too cold.
func (g Gate) pass(ctx context.Context, d Deviation, r *GateResult) error {
	if len(d.Hot) > 0 || g.Heat == nil || !d.heatable() {
		return g.Clock.Sleep(ctx, pollPause)
	}
	r.Heated++
	return g.Heat(ctx, heatBout)
}

// heatable reports whether heating the processor warms a sensor that is too cold.
func (d Deviation) heatable() bool {
	return !d.Processor || slices.ContainsFunc(d.Cold,
		func(x Deviant) bool { return matchAny(processorSensors, x.Sensor) })
}

// A Deviation is how readings differ from their base.
type Deviation struct {
	Within  int       // sensors within the tolerance
	Hot     []Deviant // above it
	Cold    []Deviant // below it
	Missing []string  // sensors that have a base but no reading

	Processor bool // the base has sensors that are known to be the processor's, counting or not
}

// A Deviant is a sensor outside the tolerance.
type Deviant struct {
	Sensor    string
	Now, Base int // thousandths of a degree Celsius
}

func (d Deviant) String() string {
	return fmt.Sprintf("%s is at %s, base %s", d.Sensor, celsius(d.Now), celsius(d.Base))
}

func (d Deviation) String() string {
	var parts []string
	for _, x := range slices.Concat(d.Hot, d.Cold) {
		parts = append(parts, x.String())
	}
	return strings.Join(parts, ", ")
}

func (d Deviation) remarks() []string {
	var remarks []string
	for _, sensor := range d.Missing {
		remarks = append(remarks, fmt.Sprintf(
			"sensor %s, which has a base temperature, cannot be read: the gate ignores it", sensor))
	}
	if d.Within+len(d.Hot)+len(d.Cold) == 0 {
		remarks = append(remarks, "no sensor to wait for: the gate is open at any temperature")
	}
	return remarks
}

// Compare compares readings with their base. It ignores readings without a base and sensors that
// match no pattern.
func Compare(base, now []results.Temperature, s GateSettings) Deviation {
	tolerance := int(math.Round(s.Tolerance * 1000))
	readings := map[string]int{}
	for _, r := range now {
		readings[r.Sensor] = r.MilliC
	}
	var d Deviation
	patterns := s.counting(base)
	for _, b := range base {
		d.Processor = d.Processor || matchAny(processorSensors, b.Sensor)
		if len(patterns) > 0 && !matchAny(patterns, b.Sensor) {
			continue
		}
		milli, there := readings[b.Sensor]
		x := Deviant{Sensor: b.Sensor, Now: milli, Base: b.MilliC}
		switch {
		case !there:
			d.Missing = append(d.Missing, b.Sensor)
		case milli > b.MilliC+tolerance:
			d.Hot = append(d.Hot, x)
		case milli < b.MilliC-tolerance:
			d.Cold = append(d.Cold, x)
		default:
			d.Within++
		}
	}
	return d
}

// matchAny reports whether a name matches one of the patterns: "*" matches any run of characters,
// including slashes, and "?" one character.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// match backtracks no further than the last "*", so its time is proportional to the product of both
// lengths.
func match(pattern, name string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// sortedKeys returns the sorted keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
