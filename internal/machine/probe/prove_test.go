package probe

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/rig/must"
)

func TestSpeedStatistics(t *testing.T) {
	s := Speed{Absolute: true, Chunks: []float64{3.6e9, 3.59e9, 3.61e9, 3.6e9, 3.6e9, 0.1e9, 3.6e9, 3.6e9,
		3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9, 3.6e9}}
	must.Be(t, s.Median() == 3.6e9 && s.Steady(), "median", s.Median(), "spread", s.Spread(),
		"one slow chunk among twenty is an interrupt")
	moving := Speed{Absolute: true, Chunks: []float64{3e9, 3.2e9, 3.4e9, 3.6e9, 3.8e9}}
	must.Be(t, !moving.Steady() && moving.Chunks[0] == 3e9, "spread", moving.Spread())
	must.Equal(t, moving.String(), "3400 MHz, varies by 23.5 %")
	must.Be(t, !(Speed{}).Steady() && math.IsNaN((Speed{}).Median()) && (Speed{}).String() == "not measured",
		"no chunks count as a speed")
	must.Equal(t, (Speed{Chunks: []float64{5e8}}).String(), "500 million steps/s, varies by 0.0 %")
}

// TestMeasureSpeed runs the loop with a clock that advances by a millisecond per reading.
func TestMeasureSpeed(t *testing.T) {
	clock := &fakeClock{step: time.Millisecond}
	s, err := MeasureSpeed(t.Context(), clock, -1, 30*time.Millisecond)
	if err != nil || len(s.Chunks) != 10 { // each chunk reads the clock three times
		t.Fatalf("%+v, %v", s, err)
	}
	for _, c := range s.Chunks {
		must.Be(t, c > 0 && (s.Source != "loop" || stepCycles() <= 0 ||
			math.Abs(c-chunkSteps*stepCycles()*1000) <= 1), "chunk", c)
	}
	must.Refused(MeasureSpeed(t.Context(), &fakeClock{}, 1<<10, time.Second))(t, "",
		"bound to a CPU that does not exist")
	must.Refused(measureChunk(&fakeClock{}, nil))(t, "", "a clock that stands still measured a speed")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = MeasureSpeed(ctx, clock, -1, time.Hour)
	must.Fail(t, err, context.Canceled, "error", "want the context's")
}

func TestSpinDependsOnEachStep(t *testing.T) {
	// The constants are those of Knuth's MMIX generator: starting with n, one step yields n*a+c.
	got, want := Spin(1), uint64(6364136223846793005)+1442695040888963407
	must.Equal(t, got, want, "Spin(1")
	must.Be(t, Spin(1000) != Spin(1001) && Spin(0) == 0, "steps are left out")
}

func TestMeasureInterrupts(t *testing.T) {
	m, dir := machine(t, "kvm-guest")
	got, err := MeasureInterrupts(m.Root, &fakeClock{step: time.Second}, func() error {
		text, err := m.Root.Read("/proc/interrupts")
		put(t, dir, "proc/interrupts", strings.Replace(text, "100001", "100251", 1))
		return err
	})
	must.Be(t, err == nil && len(got.CPUs) == 2 && got.CPUs[1].Devices == 250 && got.Elapsed == time.Second,
		got, err)
	failed := errors.New("failed")
	if _, err := MeasureInterrupts(m.Root, &fakeClock{},
		func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

func TestProofFindings(t *testing.T) {
	good := Speed{CPU: 1, Source: "loop", Absolute: true, Chunks: []float64{3.6e9, 3.6e9}}
	p := Proof{
		Speeds: []Speed{good, {CPU: 2, Absolute: true, Chunks: []float64{4.5e9}},
			{CPU: 3, Chunks: []float64{5e8, 9e8}}},
		Wanted: map[int]int64{1: 3600000, 2: 3600000}, Switches: 40,
		Interrupts: Interrupts{Elapsed: 2 * time.Second, CPUs: []CPUInterrupts{
			{CPU: 0, Ticks: 500}, {CPU: 1, Ticks: 3}, {CPU: 2, Ticks: 500, Devices: 100,
				Others: map[string]uint64{"RES": 4, "CAL": 2}},
		}},
	}
	want := map[string]setting.Status{
		"speed CPU 1": setting.StatusOK, "speed CPU 2": setting.StatusDiffers,
		"speed CPU 3": setting.StatusDiffers,
		"ticks CPU 1": setting.StatusOK, "ticks CPU 2": setting.StatusDiffers,
		"interrupts CPU 1": setting.StatusOK, "interrupts CPU 2": setting.StatusDiffers,
		"switches": setting.StatusOK,
	}
	rows := p.Findings()
	must.Equal(t, len(rows), len(want), "rows")
	for _, f := range rows {
		if f.Status != want[f.Name] || f.Why == "" || (f.Status == setting.StatusDiffers) != (f.Fix != "") {
			t.Errorf("%+v, want %s", f, want[f.Name])
		}
		must.Be(t, f.Name != "interrupts CPU 2" || f.Found == "50.0 device interrupts/s" &&
			f.Detail == "others: CAL 2, RES 4", f)
	}
	must.Be(t, !(setting.Table{Findings: rows}).Fails(), "a proof forbids to measure")
}

// TestProve measures this machine briefly with its own clock.
func TestProve(t *testing.T) {
	m, dir := machine(t, "intel-acpi-cpufreq")
	put(t, dir, "proc/stat", "cpu 1 2 3\nctxt 123\n")
	for _, file := range []string{"scaling_min_freq", "scaling_max_freq"} {
		put(t, dir, "sys/devices/system/cpu/cpufreq/policy0/"+file, "3600000\n")
	}
	clock := &lockedClock{clock: fakeClock{step: time.Millisecond}}
	p, err := Prove(t.Context(), m, clock, host.CPUs{0}, 10*time.Millisecond)
	must.Be(t, err == nil && len(p.Speeds) == 1 && len(p.Speeds[0].Chunks) != 0 && p.Wanted[0] == 3600000 &&
		p.Switches == 0 && len(p.Interrupts.CPUs) == 4, p, err)
	p, err = Prove(t.Context(), m, clock, nil, 10*time.Millisecond)
	must.Be(t, err == nil && len(p.Speeds) == 1 && p.Speeds[0].CPU == -1 && len(p.Wanted) == 0, "unbound", p,
		err)
}

func TestCheck(t *testing.T) {
	for name, want := range map[string]string{
		"intel-acpi-cpufreq": "temperature ok, kernel_log cannot, throttle ok, power_limits ok, " +
			"virtualisation ok, fingerprint ok",
		"kvm-guest": "temperature cannot, kernel_log cannot, throttle cannot, power_limits ok, " +
			"virtualisation cannot, fingerprint ok",
	} {
		m, _ := machine(t, name)
		var got []string
		findings := Check(t.Context(), m, Defaults())
		for _, f := range findings {
			got = append(got, f.Name+" "+string(f.Status))
			must.Be(t, f.Found != "" && f.Wanted != "" && f.Why != "" && (f.Status != setting.StatusCannot ||
				f.Fix != ""), name, "incomplete", f)
		}
		must.Equal(t, strings.Join(got, ", "), want, name)
		fails := (setting.Table{Findings: findings}).Fails()
		must.Equal(t, fails, (name == "kvm-guest"), name, "fails")
	}
	m, _ := machine(t, "kvm-guest")
	for _, f := range Check(t.Context(), m, Request{
		Temperature: setting.Off, KernelLog: setting.Off, Throttle: setting.Off, Virtualisation: setting.Off,
		PowerLimits: setting.Off, Fingerprint: setting.Off,
	}) {
		must.Be(t, f.Status == setting.StatusOff && f.Fix == "", "policy off", f)
	}
}
