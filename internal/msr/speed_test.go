package msr

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// fakeCore is a core that runs at hz while its MPERF counts at base, and the clock.
type fakeCore struct {
	now      time.Time
	hz, base float64
	bound    int
	fail     error
	halted   bool
}

func (f *fakeCore) Now() time.Time                             { return f.now }
func (f *fakeCore) Sleep(context.Context, time.Duration) error { return nil }
func (f *fakeCore) Close() error                               { return nil }
func (f *fakeCore) read() (aperf, mperf uint64, err error) {
	if f.halted {
		return 1, 1, f.fail
	}
	seconds := f.now.Sub(time.Unix(0, 0)).Seconds()
	return uint64(f.hz * seconds), uint64(f.base * seconds), f.fail
}

func (f *fakeCore) meter() speedometer {
	return speedometer{
		clock: f, open: func(int) (coreCounter, error) { return f, nil },
		bind: func(core int) (func(), error) {
			f.bound++
			return func() { f.bound-- }, nil
		},
		work: func() { f.now = f.now.Add(100 * time.Microsecond) },
	}
}

// TestMeasureSpeeds: an efficient core held at 2.4 GHz, whose MPERF counts at 3.187 GHz, as a
// Core i9-12900 has it (Linux 6.12, drivers/cpufreq/intel_pstate.c:949-953): APERF/MPERF is 0.753.
func TestMeasureSpeeds(t *testing.T) {
	f := &fakeCore{now: time.Unix(1, 0), hz: 2.4e9, base: 3.187e9}
	list, err := f.meter().all(t.Context(), []int{4, 5})
	must.Need(t, err == nil && len(list) == 2 && list[1].Core == 5 && f.bound == 0, list, err, f.bound,
		"bound")
	for _, s := range list {
		must.Be(t, math.Abs(s.MPERF/3.187e9-1) <= 1e-3 && math.Abs(s.MHz()/2400-1) <= 1e-3 &&
			math.Abs(s.APERF/s.MPERF-0.753) <= 1e-3, s)
	}
	elapsed := f.now.Sub(time.Unix(1, 0))
	must.Be(t, elapsed <= 2*(speedSettle+speedWindow)+time.Millisecond, "two cores took", elapsed)
	f.halted = true
	list, err = f.meter().all(t.Context(), []int{0})
	must.Be(t, err != nil, "counters that stand still", list)
	f.halted, f.fail = false, errors.New("gone")
	_, err = f.meter().all(t.Context(), []int{0})
	must.Be(t, errors.Is(err, f.fail) && f.bound == 0, err, f.bound, "bound")
	ended, end := context.WithCancel(t.Context())
	end()
	must.Refused(f.meter().all(ended, []int{0}))(t, "", "measured after the end")
}

// TestOpenCore: without perf's events the registers are read, and without those it is an error.
func TestOpenCore(t *testing.T) {
	dir := t.TempDir()
	root := sysroot.New(dir)
	refuse := func(event, eventOptions) (*os.File, error) { return nil, os.ErrPermission }
	must.Refused(openCore(root, refuse, 2))(t, "", "opened nothing")
	name := filepath.Join(dir, "dev/cpu/2/msr")
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	data := append(make([]byte, regMPERF), 7, 0, 0, 0, 0, 0, 0, 0, 0) // the file's bytes overlap
	must.Do(t, os.WriteFile(name, data, 0o600))
	c := must.Get(openCore(root, refuse, 2))(t)
	_, mperf, err := c.read()
	must.Be(t, err == nil && mperf == 7, "MPERF", mperf, err)
}

// TestLiveSpeed measures this machine's first core.
func TestLiveSpeed(t *testing.T) {
	list, err := MeasureSpeeds(t.Context(), sysroot.New("/"), sysroot.RealClock{}, []int{0})
	if err != nil {
		t.Skip(err)
	}
	must.Be(t, list[0].MPERF >= 100e6 && list[0].APERF >= 100e6, list)
}
