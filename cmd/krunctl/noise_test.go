package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/noise"
	"krund/rig/must"
)

// TestNoiseConfiguration: krund accepts both experiments; the first changes no setting, the second
// all that the study asks for, and none is required: what cannot be set is measured without.
func TestNoiseConfiguration(t *testing.T) {
	n := noiseRun{o: noiseOptions{executions: 7}, benchmarks: "/usr/lib/krund/benchmarks"}
	for name, settings := range map[string][]string{"plain": nil, "controlled": studySettings()} {
		text := []byte(n.configuration(settings))
		cfg := must.Get(config.Parse("/x/"+name+".toml", text, "lab", doctor.Settings()))(t)
		if cfg.Experiment.Executions != 7 || cfg.Experiment.Reboot != config.RebootNone {
			t.Errorf("%s: %+v", name, cfg.Experiment)
		}
		w := doctor.Of(cfg, config.RebootNone)
		turbo, services := w.Control.Of("turbo").Policy, w.Control.Of("services").Policy
		want := map[string]setting.Policy{"plain": setting.Off, "controlled": setting.Apply}[name]
		if turbo != want || services != setting.Off {
			t.Errorf("%s: turbo %s, services %s", name, turbo, services)
		}
	}
}

func TestNoiseRefuses(t *testing.T) {
	for _, test := range []struct {
		o    noiseOptions
		uid  int
		part string // of the error; "" for none
	}{
		{noiseOptions{time: time.Second, executions: 10}, 1000, ""},
		{noiseOptions{time: time.Second}, 1000, ""},
		{noiseOptions{time: 0, executions: 10}, 0, "--time"},
		{noiseOptions{time: time.Second, executions: 2}, 0, "--executions"},
		{noiseOptions{time: time.Second, executions: 10, compare: true}, 1000, "sudo"},
	} {
		err := test.o.check(test.uid)
		if test.part == "" && err != nil || test.part != "" && (err == nil ||
			!strings.Contains(err.Error(), test.part)) {
			t.Errorf("%+v: %v", test.o, err)
		}
	}
}

// TestFloorOf: only completed executions count.
func TestFloorOf(t *testing.T) {
	execution := func(seconds float64, o dataset.Outcome) dataset.Execution {
		return dataset.Execution{Outcome: o, Columns: []dataset.Column{{Name: dataset.Wall, Unit: "s",
			Core: dataset.NoCore, Reals: []float64{9, 9, seconds, seconds}}}}
	}
	data := &dataset.Dataset{Pairs: []dataset.Pair{{Executions: []dataset.Execution{
		execution(0.1, dataset.Completed), execution(0.101, dataset.Completed), execution(5, dataset.Rerun),
		execution(0.099, dataset.Completed),
	}}}}
	f, err := floorOf(data)
	if err != nil || f.Executions != 3 || math.Abs(f.MeanNS-1e8) > 1 || math.Abs(f.SDLog-0.01) > 1e-6 ||
		len(f.Detectable) != len(floorAt) {
		t.Errorf("%+v, %v", f, err)
	}
	data.Pairs[0].Executions = data.Pairs[0].Executions[:2]
	if _, err := floorOf(data); err == nil {
		t.Error("a floor of two executions")
	}
}

func TestPrintCertificate(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out}
	half := noise.Measurement{
		Census: noise.Census{Seconds: 10, ThresholdNS: 5000, CPUs: []noise.CPU{{CPU: 1, TimeNS: 10e9,
			LostNS: 16e8, LongestNS: 5e6, Gaps: 900, Preempted: 400, PeriodNS: 25e6, Sources: []noise.Source{
				{Kind: "thread", Name: "planted (812)", Count: 400, NS: 16e8},
				{Kind: "interrupt", Name: "LOC Local timer interrupts", Count: 2500}}}}},
		Floor: &noise.Floor{Benchmark: "nbody:C", Executions: 10, Iterations: 200, MeanNS: 2.5e6,
			SDLog: 0.008, Detectable: []noise.Detectable{{Executions: 5, Percent: 1.63}}},
	}
	c := noise.Certificate{Date: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Host: "lab", Krund: "1",
		Virtual: "kvm", Plain: half}
	a.console().Certificate(c)
	half.Census.CPUs = []noise.CPU{{CPU: 1, TimeNS: 10e9, LostNS: 1e6, Gaps: 9, LongestNS: 2e5}}
	c.Virtual, c.Controlled = "", &half
	a.console().Certificate(c)
	golden(t, "noise", out.String())
}
