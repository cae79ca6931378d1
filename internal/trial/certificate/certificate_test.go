package certificate

import (
	"math"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
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
	f, err := floorOf(timesOf(data))
	if err != nil || f.Executions != 3 || math.Abs(f.MeanNS-1e8) > 1 || math.Abs(f.SDLog-0.01) > 1e-6 ||
		len(f.Detectable) != len(floorAt) {
		t.Errorf("%+v, %v", f, err)
	}
	data.Pairs[0].Executions = data.Pairs[0].Executions[:2]
	if _, err := floorOf(timesOf(data)); err == nil {
		t.Error("a floor of two executions")
	}
	fast, slow := [][]float64{{1}, {1}, {1}}, [][]float64{{1.1}, {1.1}, {1.1}}
	e, err := effect([]block{{times: slow}, {times: slow}}, []block{{times: fast}, {times: fast}})
	must.Be(t, err == nil && e.Pairs == 2 && math.Abs(e.Ratio-1/1.1) < 1e-12 && e.High-e.Low < 1e-12, e, err)
	if e, err := effect([]block{{}}, []block{{}}); e != nil || err != nil {
		t.Errorf("without executions: %v, %v", e, err)
	}
}
