package warmup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// madeUp is one execution of 2000 iterations of the kind-th shape, in whole nanoseconds as records
// have them: 1% noise, an outlier in 70 iterations, and levels that the shape determines.
func madeUp(r *rand.Rand, kind int) []float64 {
	x := make([]float64, 2000)
	for i := range x {
		at := 0.1
		switch kind {
		case 0: // warmup in two steps
			at += 0.05*math.Exp(-float64(i)/20) + 0.01*float64((2000-i)/1500)
		case 1: // warmup, and a program that alternates between two speeds for a while
			at += 0.03*math.Exp(-float64(i)/5) + 0.002*float64(i/50%2*(2000-i)/800)
		case 2: // slowdown
			at += 0.01 * float64(i/700)
		case 3: // no steady state
			at += 0.005 * float64(i/90%2)
		} // the others are flat
		x[i] = at * (1 + 0.01*r.NormFloat64())
		if r.IntN(70) == 0 {
			x[i] *= 1 + r.Float64()
		}
		x[i] = math.Round(x[i]*1e9) / 1e9
	}
	return x
}

// BenchmarkStudy analyzes 3,660 executions: 122 keys of 30, a fifth of them without a steady state.
// Its metric is the processor time in user mode.
func BenchmarkStudy(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	d := &dataset.Dataset{}
	for k := range 122 {
		for range 30 {
			d.Add(key.Key{Benchmark: fmt.Sprint(k), VM: "v", Variant: "x"}, completed(wall(madeUp(r, k%5))))
		}
	}
	for _, c := range []struct {
		name string
		Options
	}{{"with performance", Options{}}, {"without", Options{NoPerformance: true}}} {
		b.Run(c.name, func(b *testing.B) {
			before := userSeconds(b)
			for b.Loop() {
				must.Get(Analyze(d, Default(classify.Paper), c.Options))(b)
			}
			b.ReportMetric((userSeconds(b)-before)/float64(b.N), "user-s/op")
		})
	}
}

func userSeconds(b *testing.B) float64 {
	var usage syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()) / 1e9
}
