package probe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// study is the gate of the warmup study.
func study() GateSettings { return GateSettings{Tolerance: 3, Timeout: time.Hour} }

func at(celsius ...float64) []results.Temperature {
	var list []results.Temperature
	for i, c := range celsius {
		list = append(list, results.Temperature{Sensor: string(rune('a' + i)), MilliC: int(c * 1000)})
	}
	return list
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name                       string
		base, now                  []results.Temperature
		sensors                    []string
		within, hot, cold, missing int
	}{
		{"same", at(40, 50), at(40, 50), nil, 2, 0, 0, 0},
		{"on the bounds", at(40, 50), at(43, 47), nil, 2, 0, 0, 0},
		{"just beyond", at(40, 50), at(43.001, 46.999), nil, 0, 1, 1, 0},
		{"one is gone", at(40, 50), at(40), nil, 1, 0, 0, 1},
		{"a new one has no base", at(40), at(40, 99), nil, 1, 0, 0, 0},
		{"only the chosen count", at(40, 50), at(99, 50), []string{"b"}, 1, 0, 0, 0},
		{"nothing", nil, nil, nil, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		s := study()
		s.Sensors = tt.sensors
		d := Compare(tt.base, tt.now, s)
		must.Be(t, d.Within == tt.within && len(d.Hot) == tt.hot && len(d.Cold) == tt.cold &&
			len(d.Missing) == tt.missing, tt.name, d)
	}
}

// series is a machine whose readings follow a list; the last one is repeated.
type series struct {
	readings [][]results.Temperature
	heats    int
	clock    *fakeClock
}

func (s *series) read(context.Context) Temperatures {
	now := s.readings[0]
	if len(s.readings) > 1 {
		s.readings = s.readings[1:]
	}
	return Temperatures{Readings: now}
}

func (s *series) heat(_ context.Context, d time.Duration) error {
	s.heats++
	s.clock.now = s.clock.now.Add(d)
	return nil
}

func TestGate(t *testing.T) {
	tests := []struct {
		name     string
		base     []results.Temperature
		readings [][]results.Temperature
		waited   time.Duration
		heated   int
		remark   string
		shut     string // part of the error
	}{
		{"open at once", at(40), [][]results.Temperature{at(41)}, 0, 0, "", ""},
		{"cools down", at(40), [][]results.Temperature{at(60), at(50), at(43)}, 20 * time.Second, 0, "", ""},
		{"is heated", at(40), [][]results.Temperature{at(30), at(35), at(37)}, 20 * time.Second, 2, "", ""},
		{"hot here and cold there: waits", at(40, 40), [][]results.Temperature{at(60, 30), at(40, 40)},
			10 * time.Second, 0, "", ""},
		{"heated too much, then cools", at(40), [][]results.Temperature{at(30), at(50), at(40)},
			20 * time.Second, 1, "", ""},
		{"stays hot", at(40, 40), [][]results.Temperature{at(61, 40)}, time.Hour, 0, "", "a is at 61.0 C, " +
			"base 40.0 C"},
		{"stays cold", at(40), [][]results.Temperature{at(20)}, time.Hour, 360, "", "within 1h0m0s"},
		{"a lost sensor is left out", at(40, 50), [][]results.Temperature{at(40)}, 0, 0, "sensor b", ""},
		{"all sensors lost", at(40), [][]results.Temperature{nil}, 0, 0, "any temperature", ""},
		{"no sensors at all", nil, [][]results.Temperature{nil}, 0, 0, "no sensor to wait for", ""},
	}
	for _, tt := range tests {
		clock := &fakeClock{now: time.Unix(0, 0)}
		s := &series{readings: tt.readings, clock: clock}
		g := Gate{Clock: clock, Read: s.read, Heat: s.heat}
		r, err := g.Wait(t.Context(), tt.base, study())
		must.Be(t, r.Waited == tt.waited && r.Heated == tt.heated && s.heats == tt.heated, tt.name, "waited",
			r.Waited, "heated", r.Heated, tt.waited, tt.heated)
		must.Be(t, strings.Contains(strings.Join(r.Remarks, "\n"), tt.remark) && (tt.remark != "" ||
			len(r.Remarks) == 0), tt.name, "remarks", r.Remarks, "want", tt.remark)
		must.Be(t, (tt.shut != "") == errors.Is(err, ErrTemperature) && (err == nil ||
			strings.Contains(err.Error(), tt.shut)), tt.name, err, "want one with", tt.shut)
	}
}

// TestGateOfTheProcessor: settings such as the network being down cool a card for good. By default
// only the processor's sensors count, and the processor is not heated for another one.
func TestGateOfTheProcessor(t *testing.T) {
	named := func(cpu, card float64) []results.Temperature {
		return []results.Temperature{{Sensor: "coretemp@platform/coretemp.0/Core_0", MilliC: int(cpu * 1000)},
			{Sensor: "ixgbe@pci0000:00/temp1", MilliC: int(card * 1000)}}
	}
	for _, tt := range []struct {
		name        string
		sensors     []string
		cpu, card   float64 // now
		open, heats bool
	}{
		{"the card is cold", nil, 41, 45, true, false},
		{"the card is hot", nil, 41, 70, true, false},
		{"the processor is cold", nil, 30, 55, false, true},
		{"a cold card that is asked for", []string{"*"}, 41, 45, false, false},
		{"both are cold", []string{"*"}, 30, 45, false, true},
	} {
		clock := &fakeClock{now: time.Unix(0, 0)}
		s := &series{readings: [][]results.Temperature{named(tt.cpu, tt.card)}, clock: clock}
		limits := study()
		limits.Sensors = tt.sensors
		_, err := Gate{Clock: clock, Read: s.read, Heat: s.heat}.Wait(t.Context(), named(40, 55), limits)
		must.Be(t, (err == nil) == tt.open && (s.heats > 0) == tt.heats, tt.name, err, "heated", s.heats,
			"times")
	}
}

// TestGateWithoutSensors: if sensors are required, the loss of all of them must not open the gate.
func TestGateWithoutSensors(t *testing.T) {
	for _, demand := range []bool{false, true} {
		clock := &fakeClock{}
		s := &series{readings: [][]results.Temperature{at(60), nil}, clock: clock}
		_, err := Gate{Clock: clock, Read: s.read, Demand: demand}.Wait(t.Context(), at(40), study())
		must.Be(t, errors.Is(err, ErrNoSensors) == demand && (!demand ||
			strings.Contains(err.Error(), "(a)")) && (demand || err == nil), "demand", demand, err)
	}
}

// TestGateWithTransientSensorErrors: sensors that temporarily cannot be read are read again later.
func TestGateWithTransientSensorErrors(t *testing.T) {
	clock := &fakeClock{}
	s := &series{readings: [][]results.Temperature{at(60), nil, nil, at(41)}, clock: clock}
	r, err := Gate{Clock: clock, Read: s.read, Demand: true}.Wait(t.Context(), at(40), study())
	must.Be(t, err == nil && len(r.Remarks) == 0 && r.Waited == 3*pollPause, r, err)
	clock = &fakeClock{}
	s = &series{readings: [][]results.Temperature{nil}, clock: clock}
	r, err = (Gate{Clock: clock, Read: s.read, Demand: true}).Wait(t.Context(), at(40), study())
	must.Be(t, errors.Is(err, ErrNoSensors) && r.Waited == (blindLooks-1)*pollPause, r, err)
	clock = &fakeClock{}
	other := study()
	other.Sensors = []string{"x"}
	r, err = (Gate{Clock: clock, Read: s.read, Demand: true}).Wait(t.Context(), at(40), other)
	must.Be(t, errors.Is(err, ErrNoSensors) && r.Waited == 0, "none of the base counts", r, err)
}

func TestGateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	clock := &fakeClock{}
	s := &series{readings: [][]results.Temperature{at(90)}, clock: clock}
	_, err := (Gate{Clock: clock, Read: s.read}).Wait(ctx, at(40), study())
	must.Fail(t, err, context.Canceled, "error", "want the context's")
}

func TestHeat(t *testing.T) {
	clock := &lockedClock{clock: fakeClock{step: time.Second}}
	must.Do(t, Heat(t.Context(), clock, 5*time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Fail(t, Heat(ctx, clock, time.Hour), context.Canceled, "error", "want the context's")
}
