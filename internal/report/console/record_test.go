package console

import (
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestFrequencyText(t *testing.T) {
	core, expected, held, mperf, measured := 4, 0.753, int64(2400000), 3.187e9, 2.3994e9
	for _, c := range []struct {
		f    results.Frequency
		want string
	}{
		{results.Frequency{}, "the benchmark's threads: APERF/MPERF not judged, the cores' frequencies " +
			"differ"},
		{results.Frequency{Core: &core, Expected: &expected}, "core 4: APERF/MPERF of 0.753 expected"},
		{results.Frequency{Core: &core, Expected: &expected, HeldKHz: &held, MPERFHz: &mperf,
			Source: results.MeasuredRate, MeasuredHz: &measured}, "core 4: APERF/MPERF of 0.753 expected, " +
			"held at 2400 MHz, MPERF counts at 3187 MHz (measured), ran at 2399 MHz before the run"},
	} {
		must.Equal(t, frequencyText(c.f), c.want)
	}
}
