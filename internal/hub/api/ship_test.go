package api_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"krund/internal/hub/api"
	"krund/rig/must"
)

// TestTextsAreBounded: what a machine says for people is cut where it is received, and refused
// nowhere: lists and texts of any length do not keep it from shipping.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 4000)
	many := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = strings.Repeat("x", 8000/n) + "ä"
		}
		return list
	}
	s := api.Ship{Status: api.Status{Krund: long, Host: long, Clock: long, Warnings: many(1000)},
		Experiment: &api.ShippedExperiment{
			Name:       "x",
			ConfigHash: strings.Repeat("a", 64),
			Progress: api.Progress{
				Reason: long, Running: long, Flags: strings.Repeat("C", api.MaxFlags+1), Unfit: many(500)},
		}}
	for range 100 {
		s.Experiment.Progress.Failures = append(s.Experiment.Progress.Failures,
			api.Failure{Key: long[:900], Outcome: long[:300], Reason: long[:900]})
	}
	s.Experiment.Progress.Failures[0] = api.Failure{Key: long, Outcome: long, Reason: long}
	s.Status.Warnings[1] = long
	s.Experiment.Progress.Unfit[1] = long
	var b bytes.Buffer
	err := api.WriteShip(&b, s, func(api.Entry) (io.ReadCloser, error) { return nil, nil })
	must.Need(t, err == nil && b.Len() <= api.MaxJSON, b.Len(), "bytes", err)
	got := must.Get(readShip(bufio.NewReader(&b)))(t)
	p := got.Experiment.Progress
	if n := len(got.Status.Warnings); n != api.MaxWarnings || got.Status.Warnings[n-1] != "and 981 more" {
		t.Errorf("%d warnings, %q", n, got.Status.Warnings)
	}
	n := len(p.Unfit)
	must.Be(t, n == api.MaxUnfit && p.Unfit[n-1] == "and 481 more", n, "unfit", p.Unfit)
	must.Be(t, len(p.Failures) == api.MaxFailures && len(p.Flags) == api.MaxFlags, len(p.Failures),
		"failures", len(p.Flags), "flags")
	texts := append([]string{p.Reason, p.Running, got.Status.Krund, got.Status.Host, got.Status.Clock,
		p.Failures[0].Key, p.Failures[0].Outcome, p.Failures[0].Reason}, got.Status.Warnings...)
	for _, text := range append(texts, p.Unfit...) {
		must.Be(t, len(text) <= api.MaxText && utf8.ValidString(text), "a text of", len(text), "bytes", text)
	}
}

// FuzzReadShip: what is accepted is within the limits, and can be sent again.
func FuzzReadShip(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"experiment":{"name":"x","config_hash":"` + strings.Repeat("a", 64) + `","seed":"1"},` +
		`"entries":[{"slot":1,"attempt":1,"hash":"` + strings.Repeat("0", 64) + `","size":0}]}` + "\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := readShip(bufio.NewReader(bytes.NewReader(body)))
		if err != nil {
			return
		}
		must.Need(t, len(s.Entries) <= api.MaxEntries && (s.Experiment != nil || len(s.Entries) == 0),
			"accepted", s)
		empty := func(api.Entry) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }
		s.Entries = nil
		var again bytes.Buffer
		must.Do(t, api.WriteShip(&again, s, empty))
		_, err = readShip(bufio.NewReader(&again))
		must.Be(t, err == nil || again.Len() > api.MaxJSON, again.Bytes(), err)
	})
}

func TestReadShipLimits(t *testing.T) {
	hash := strings.Repeat("a", 64)
	head := `{"experiment":{"name":"x","config_hash":"` + hash + `","seed":"1"},"entries":[`
	for name, body := range map[string]string{
		"nothing":         "",
		"no end of line":  "{}",
		"an endless line": strings.Repeat(" ", api.MaxJSON+1) + "\n",
		"too many entries": head + strings.Repeat(`{"attempt":1,"hash":"`+hash+`"},`, api.MaxEntries) +
			`{"attempt":1,"hash":"` + hash + `"}]}` + "\n",
		"an entry too large":    head + `{"attempt":1,"hash":"` + hash + `","size":268435457}]}` + "\n",
		"a negative size":       head + `{"attempt":1,"hash":"` + hash + `","size":-1}]}` + "\n",
		"attempt 0":             head + `{"hash":"` + hash + `"}]}` + "\n",
		"a file of the machine": head + `{"name":"/etc/shadow","hash":"` + hash + `"}]}` + "\n",
		"a file too large":      head + `{"name":"log","hash":"` + hash + `","size":33554433}]}` + "\n",
		"no SHA-256":            head + `{"attempt":1,"hash":"` + strings.ToUpper(hash) + `"}]}` + "\n",
		"entries of nothing":    `{"entries":[{"attempt":1,"hash":"` + hash + `"}]}` + "\n",
		"a file twice":          head + `{"name":"log","hash":"` + hash + `"},{"name":"log","hash":"` + hash + `"}]}` + "\n",
		"too much in all": head + strings.Repeat(`{"attempt":1,"hash":"`+hash+`","size":200000000},`, 1) +
			`{"attempt":1,"hash":"` + hash + `","size":200000000}]}` + "\n",
	} {
		s, err := readShip(bufio.NewReader(strings.NewReader(body)))
		must.Be(t, err != nil, name, "accepted", len(s.Entries), "entries")
	}
}

// readShip reads and parses the first line of a shipment.
func readShip(r *bufio.Reader) (api.Ship, error) {
	line, err := api.ReadHead(r)
	if err != nil {
		return api.Ship{}, err
	}
	return api.ParseShip(line)
}

// TestSubmission: what is wrong with the form of a submission is named.
func TestSubmission(t *testing.T) {
	good := api.Submission{ID: api.NewID(), Bundle: strings.Repeat("0", 64), Target: "lab", Machines: 1}
	must.Do(t, good.Check())
	for want, change := range map[string]func(s *api.Submission){
		"the id":        func(s *api.Submission) { s.ID = "short" },
		"no SHA-256":    func(s *api.Submission) { s.Bundle = strings.Repeat("G", 64) },
		"no name":       func(s *api.Submission) { s.Target = "../lab" },
		"1001 machines": func(s *api.Submission) { s.Machines = api.MaxMachines + 1 },
		"priority 101":  func(s *api.Submission) { s.Priority = 101 },
	} {
		s := good
		change(&s)
		must.Refuse(t, s.Check(), want)
	}
}
