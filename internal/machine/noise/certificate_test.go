package noise

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"reflect"
	"testing"
	"time"

	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

func certificate() Certificate {
	return Certificate{
		Format: Format, Date: time.Date(2026, 11, 22, 10, 28, 4, 0, time.UTC), BootID: "b", Host: "lab",
		Krund: "1", Virtual: "kvm", Fingerprint: map[string]string{"cpu.model": "X"},
		Plain: Measurement{
			Census: Census{Seconds: 10, ThresholdNS: 5000, CPUs: []CPU{{CPU: 1, TimeNS: 10e9, LostNS: 2e7,
				LongestNS: 1e6, Gaps: 9, Preempted: 3, PeriodNS: 25e6,
				Sources: []Source{{"thread", "planted (812)", 400, 16e6}}}}},
			Floor: &Floor{Benchmark: "nbody:C", Executions: 10, Iterations: 200, MeanNS: 2e6, SDLog: 0.01,
				Detectable: []Detectable{{10, 1.3, 2.4}}, Strays: []int{1}, LevelsNS: []float64{2e6, 3e6}},
		},
	}
}

func TestStoreAndRead(t *testing.T) {
	fsys := crashfs.New("/var")
	file, err := Newest(fsys, "/var/noise")
	must.Be(t, file == "" && err == nil, "newest of none", file, err)
	want := certificate()
	later := want
	later.Date = want.Date.Add(time.Hour)
	for _, c := range []Certificate{later, want} {
		must.Get(Store(fsys, "/var/noise", c))(t)
	}
	file, err = Newest(fsys, "/var/noise")
	must.Need(t, err == nil && file == "/var/noise/2026-11-22T11-28-04Z.json", file, err)
	got, err := Read(fsys, file)
	must.Be(t, err == nil && reflect.DeepEqual(got, later), got, err, later)
	const summary = "noise certificate of 2026-11-22: 0.2 % of the time lost, at best 2.4 % detectable " +
		"with 10 executions of nbody:C in one boot, 1 of 10 executions strayed"
	if got.Summary(time.Time{}) != summary {
		t.Errorf("%q, want %q", got.Summary(time.Time{}), summary)
	}
	if _, err := Read(fsys, "/var/noise/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestParseRejects(t *testing.T) {
	for name, change := range map[string]func(*Certificate){
		"a newer format":            func(c *Certificate) { c.Format = Format + 1 },
		"no time":                   func(c *Certificate) { c.Plain.Census.CPUs[0].TimeNS = 0 },
		"more lost than there was":  func(c *Certificate) { c.Plain.Census.CPUs[0].LostNS = 11e9 },
		"a negative floor":          func(c *Certificate) { c.Plain.Floor.SDLog = -1 },
		"a stray that is not there": func(c *Certificate) { c.Plain.Floor.Strays[0] = 2 },
		"a floor of no executions":  func(c *Certificate) { c.Plain.Floor.Detectable[0].Executions = 0 },
		"the same in the other half": func(c *Certificate) {
			half := c.Plain
			half.Floor = &Floor{MeanNS: -1}
			c.Controlled = &half
		},
	} {
		c := certificate()
		change(&c)
		data := must.Get(json.Marshal(c))(t)
		must.Refused(Parse(data))(t, "", name, "no error")
	}
	must.Refused(Parse([]byte("<html>")))(t, "no noise certificate")
}

func FuzzParse(f *testing.F) {
	data := must.Get(json.Marshal(certificate()))(f)
	f.Add(data)
	f.Add([]byte(`{"format":1,"plain":{"floor":{"mean_ns":1e400}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		lost := c.Plain.Lost()
		must.Be(t, len(c.Plain.Census.CPUs) == 0 || lost >= 0 && lost <= 1 || math.IsNaN(lost), "lost", lost,
			"of", data)
		_ = c.Summary(time.Time{})
	})
}

// TestEarlier: one certificate of each other boot, of the same machine and program only.
func TestEarlier(t *testing.T) {
	fsys := crashfs.New("/var")
	now := certificate()
	at := 0
	for _, change := range []func(*Certificate){
		func(c *Certificate) { c.BootID = "1" },
		func(c *Certificate) { c.BootID = "1" },
		func(c *Certificate) { c.BootID = "2" },
		func(*Certificate) {}, // of this boot
		func(c *Certificate) { c.BootID, c.Host = "3", "other" },
		func(c *Certificate) { c.BootID, c.Krund = "4", "0" },
		func(c *Certificate) { c.BootID, c.Plain.Floor = "5", nil },
		func(c *Certificate) { c.BootID, c.Fingerprint = "6", map[string]string{"cpu.model": "Y"} },
	} {
		c := certificate()
		at--
		c.Date = now.Date.Add(time.Duration(at) * time.Hour)
		change(&c)
		must.Get(Store(fsys, "/var/noise", c))(t)
	}
	list := must.Get(Earlier(fsys, "/var/noise", now))(t)
	must.Be(t, len(list) == 2 && list[0].BootID == "1" && list[1].BootID == "2", list)
	now.Plain.Floor = nil
	must.Equal(t, len(must.Get(Earlier(fsys, "/var/noise", now))(t)), 0, "without a floor")
}
