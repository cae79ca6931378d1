package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// stepFile writes JMH results of some forks with 700 batches of 100 ms, the first 205 of which are
// slower by a half.
func stepFile(t *testing.T, dir string, count int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	forks := make([][]float64, count)
	for i := range forks {
		for k := range 700 {
			v := 5 * (1 + 0.005*r.NormFloat64())
			if k < 205 {
				v *= 1.5
			}
			forks[i] = append(forks[i], v)
		}
	}
	text := must.Get(json.Marshal([]any{map[string]any{"benchmark": "org.x.B.m", "mode": "avgt",
		"primaryMetric": map[string]any{"scoreUnit": "us/op", "rawData": forks}}}))(t)
	return writeText(t, filepath.Join(dir, fmt.Sprintf("jmh%d.json", count)), string(text))
}

func TestSimulatePaper(t *testing.T) {
	must.Long(t)
	dir := t.TempDir()
	in, one := stepFile(t, dir, 2), stepFile(t, dir, 1)
	truth := writeText(t, filepath.Join(dir, "truth.csv"),
		"benchmark,fork,classification,steady_state_starts,technique,timewaste,interval\n"+
			"org.x.B.m,0,steady state,205,Dev,-10,\"(1.4, 1.5)\"\n"+
			"org.x.B.m,1,steady state,205,Dev,3,\"(0.99, 1.01)\"\n"+
			"other,0,steady state,20,Dev,30,\"(0.99, 1.01)\"\n")
	v1, v2 := writeText(t, filepath.Join(dir, "v1.csv"), uoptimeText(1, 1)),
		writeText(t, filepath.Join(dir, "v2.csv"), uoptimeText(2, 1.5))
	for _, c := range []struct {
		args []string
		want []string // lines, with single spaces
	}{
		// Both criteria stop in the slow second half minute: 10 s, or after the step.
		{[]string{"laaber", "--batch", "100ms", in}, []string{
			"Time saved (Table 3), nominal: a step is a second",
			"A/A tests not different 0.0% 0.0% 0.0%", "changes below 3 % 0.0% 0.0% 0.0%"}},
		{[]string{"traini", "--batch", "100ms", "--truth", truth, in}, []string{
			"Dev, whole file 3 33.3 % 33.3 % 33.3 % 0.0 % 33.3 %",
			"Dev, these 2 50.0 % 50.0 % 0.0 % 0.0 % 50.0 %",
			"cv (recommended, jmh) 2 0.0 % 100.0 % 0.0 % 0.0 % 100.0 %",
			"krunctl analyze 2 100.0 % 0.0 % 0.0 % 0.0 % 0.0 %"}},
		{[]string{"traini", "--batch", "100ms", one}, []string{
			"Injected: the first iterations take 5 % longer",
			"Injected: the first iterations take 100 % longer"}},
		{[]string{"uoptime", v1, v2}, []string{
			"all, minimum 2 2 0 0 0% to 0%, median 0% 0% to 0%, median 0%"}},
	} {
		got := krunctl(t, append([]string{"enough", "simulate", "--paper"}, c.args...)...)
		lines := map[string]bool{}
		for line := range strings.Lines(got.stdout) {
			lines[strings.Join(strings.Fields(line), " ")] = true
		}
		for _, want := range c.want {
			must.Be(t, got.code == exitOK && lines[want], c.args[0], "no line", want, got.text())
		}
		if c.args[0] == "traini" {
			continue // slow, and the same code
		}
		args := append([]string{"enough", "simulate", "--format", "json", "--paper"}, c.args...)
		if j := krunctl(t, args...); j.code != exitOK || !json.Valid([]byte(j.stdout)) {
			t.Errorf("%s --json: %s", c.args[0], j.text())
		}
	}
}
