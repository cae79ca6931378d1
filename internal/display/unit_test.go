package display

import (
	"math"
	"testing"

	"krund/rig/must"
)

func TestUnit(t *testing.T) {
	seconds, cycles, count := UnitOf("s"), UnitOf("cycles"), UnitOf("")
	ms := seconds.For(0.002)
	for _, c := range []struct{ got, want string }{
		{seconds.Value(0.0123449), "12.34 ms"}, {seconds.Value(62e-9), "62.00 ns"},
		{seconds.Value(0.99996), "1.000 s"}, {seconds.Value(12345.6), "12346 s"}, {seconds.Value(0), "0 s"},
		{seconds.Value(3e-13), "0.0003000 ns"}, {seconds.Value(3e-16), "3.000e-07 ns"},
		{seconds.Value(math.NaN()), ""}, {seconds.Value(-0.5), "-500.0 ms"},
		{ms.Value(1.5), "1500 ms"}, {seconds.Short(0.005), "5 ms"},
		{ms.Value(62e-9), "0.00006200 ms"},
		{cycles.Value(1.5e6), "1.500 Mcycles"}, {cycles.Value(0.5), "0.5000 cycles"},
		{count.Value(12345), "12.35 k"}, {count.Value(7), "7.000"},
		{seconds.Range(0.1, 0.05, 1.25), "100.0 ms (50.00, 1250)"},
		{seconds.Interval(62e-9, 2e-9), "62.0 ±2.0 ns"}, {seconds.Interval(0.2016, 0.0044), "201.6 ±4.4 ms"},
		{seconds.Value(1e308), "1.000e+308 s"}, {seconds.Value(9999e11), "999900000000000 s"},
		{seconds.Interval(1e308, 1e300), "1e+308 ±1e+300 s"},
		{seconds.Interval(1.05e-300, 2e-302), "1.05e-291 ±2e-293 ns"},
		{Fixed(12345678.25, 1), "12345678.2"}, {Fixed(-1e16, 4), "-1.000e+16"},
		{seconds.Interval(2, 0), "2 ±0 s"}, {seconds.Interval(62e-9, 28e-9), "62 ±28 ns"},
		{seconds.For(0.02).Name(), "ms"}, {cycles.For(3e9).Name(), "Gcycles"}, {count.For(3).Name(), ""},
		{ms.For(3e-9).Name(), "ms"},
	} {
		must.Equal(t, c.got, c.want)
	}
	must.Equal(t, seconds.For(0.02).Scale(0.05), 50, "0.05 s", "ms")
}
