package certificate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/noise"
	"krund/rig/must"
)

// TestConfiguration: krund accepts both experiments; the first changes no setting, the second
// all that the study asks for, and none is required: what cannot be set is measured without.
func TestConfiguration(t *testing.T) {
	n := Run{Executions: 7, benchmarks: "/usr/lib/krund/benchmarks"}
	for name, settings := range map[string][]string{"plain": nil, "controlled": studySettings()} {
		text := []byte(n.configuration(settings))
		cfg := must.Get(config.Parse("/x/"+name+".toml", text, "lab", doctor.Settings()))(t)
		must.Be(t, cfg.Experiment.Executions == 7 && cfg.Experiment.Reboot == config.RebootNone, name,
			cfg.Experiment)
		w := doctor.Of(cfg, config.RebootNone)
		turbo, services := w.Control.Of("turbo").Policy, w.Control.Of("services").Policy
		want := map[string]setting.Policy{"plain": setting.Off, "controlled": setting.Apply}[name]
		must.Be(t, turbo == want && services == setting.Off, name, "turbo", turbo, "services", services)
	}
}

// TestFloorOf: only completed executions count.
func TestFloorOf(t *testing.T) {
	execution := func(seconds float64, o results.Outcome) dataset.Execution {
		return dataset.Execution{Outcome: o, Columns: []dataset.Column{{Name: dataset.Wall, Unit: "s",
			Core: dataset.NoCore, Reals: []float64{9, 9, seconds, seconds}}}}
	}
	data := &dataset.Dataset{Pairs: []dataset.Pair{{Executions: []dataset.Execution{
		execution(0.1, results.Completed), execution(0.101, results.Completed), execution(5, results.Rerun),
		execution(0.099, results.Completed),
	}}}}
	three := timesOf(data)
	m, err := (&Run{Executions: 12}).joined(slices.Repeat([]block{{times: three}}, 4))
	f := m.Floor
	// R: sd(rep(log(c(100, 101, 99)), 4))
	must.Be(t, err == nil && f.Executions == 12 && math.Abs(f.MeanNS-1e8) < 1 &&
		math.Abs(f.SDLog-0.0085282) < 1e-6 && len(f.Detectable) == len(floorAt) &&
		len(f.LevelsNS) == 12 && f.DifferHigh >= f.Differ, f, err)
	must.Refused(floorOf(three))(t, "3 executions of nbody: no more completed, and a noise floor needs 12")
	fast, slow := [][]float64{{1}, {1}, {1}}, [][]float64{{1.1}, {1.1}, {1.1}}
	e, err := effect([]block{{times: slow}, {times: slow}}, []block{{times: fast}, {times: fast}})
	must.Be(t, err == nil && e.Pairs == 2 && math.Abs(e.Ratio-1/1.1) < 1e-12 && e.High-e.Low < 1e-12, e, err)
	if e, err := effect([]block{{}}, []block{{}}); e != nil || err != nil {
		t.Errorf("without executions: %v, %v", e, err)
	}
}

// boot is a certificate whose executions have this mean and deviation.
func boot(logMean, sd float64) noise.Certificate {
	return noise.Certificate{Date: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Plain: noise.Measurement{
		Floor: &noise.Floor{MeanNS: 1e6 * math.Exp(logMean), SDLog: sd, Executions: 10}}}
}

// TestBoots: the analysis of variance by hand, and by simulation the share of intervals that have
// the deviation of executions in a boot each.
func TestBoots(t *testing.T) {
	must.Be(t, Boots(boot(0, 0.01), []noise.Certificate{boot(0, 0.01)}) == nil, "two boots")
	b := Boots(boot(0, 0.01), []noise.Certificate{boot(0.02, 0.01), boot(-0.02, 0.01)})
	// (0.02^2 + 0.02^2)/2 - 0.01^2/10 = 3.9e-4 between boots, and 1e-4 within one
	must.Be(t, b.Boots == 3 && math.Abs(b.SDLog-math.Sqrt(3.9e-4)) < 1e-9 &&
		math.Abs(b.Total-math.Sqrt(4.9e-4)) < 1e-9 && b.SDLow < b.Total && b.High > b.Percent, b)
	random := rand.New(rand.NewPCG(1, 2))
	const within, boots, runs = 0.01, 6, 200
	for _, between := range []float64{0, 0.005, 0.01, 0.03} {
		covered := 0
		for range runs {
			var all []noise.Certificate
			for range boots {
				level, sum, squares := between*random.NormFloat64(), 0.0, 0.0
				for range 10 {
					x := within * random.NormFloat64()
					sum, squares = sum+x, squares+x*x
				}
				all = append(all, boot(level+sum/10, math.Sqrt((squares-sum*sum/10)/9)))
			}
			b := Boots(all[0], all[1:])
			if truth := math.Hypot(within, between); b.SDLow <= truth && truth <= b.SDHigh {
				covered++
			}
		}
		must.Be(t, covered >= runs*92/100, "between", between, "covered", covered, "of", runs)
	}
}
