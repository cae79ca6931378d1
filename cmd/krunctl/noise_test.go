package main

import (
	"bytes"
	"testing"
	"time"

	"krund/internal/machine/noise"
	"krund/rig/must"
)

func TestNoiseRefuses(t *testing.T) {
	for _, c := range []struct {
		o    checkOptions
		part string // of the error
	}{{checkOptions{executions: 2}, "--executions"}, {checkOptions{executions: 12, prove: true}, "sudo"}} {
		must.Refuse(t, (&app{uid: 1000}).noise(t.Context(), c.o), c.part)
	}
}

// TestNoiseBesideAnExperiment: neither a certificate nor a proof disturbs a krund that measures.
func TestNoiseBesideAnExperiment(t *testing.T) {
	for _, flag := range []string{"--noise", "--prove"} {
		a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{},
			running: func() []int { return []int{812} }}
		c := checkCommand(a)
		c.SetArgs([]string{flag})
		c.SilenceErrors, c.SilenceUsage = true, true
		must.Refuse(t, c.Execute(), "process 812")
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
			SDLog: 0.008, Detectable: []noise.Detectable{{Executions: 5, Percent: 1.63, High: 4.2}},
			Differ: 0.0012, DifferLow: 0.0005, DifferHigh: 0.0021, Strays: []int{3}, StraysLow: 0.003,
			StraysHigh: 0.445, LevelsNS: []float64{2.5e6, 2.5e6, 2.5e6, 3e6}},
	}
	c := noise.Certificate{Date: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Host: "lab", Krund: "1",
		Virtual: "kvm", Plain: half}
	a.console().Certificate(c)
	half.Census.CPUs = []noise.CPU{{CPU: 1, TimeNS: 10e9, LostNS: 1e6, Gaps: 9, LongestNS: 2e5}}
	c.Virtual, c.Controlled, c.Applied, c.NotApplied = "", &half, []string{"thp"}, []string{"turbo"}
	c.Effect = &noise.Effect{Pairs: 4, Ratio: 0.99, Low: 0.98, High: 0.995}
	a.console().Certificate(c)
	golden(t, "noise", out.String())
}
