package rig

import (
	"testing"
	"time"

	"krund/rig/must"
)

func TestCampaignAddsUp(t *testing.T) {
	c := &Campaign{began: now(), seed: 7, kernel: "6.1"}
	c.Phase("first boot", 24)
	c.RandomCut()
	for _, step := range []int{3, 3, 4} {
		c.ExactCut("first boot", step)
	}
	c.ExactCut("unknown", 1)
	c.Phase("differs", 0)
	c.ExactCut("differs", 99)
	c.Harm(Harm{Kind: Lost})
	for range 2 {
		c.Harm(Harm{Kind: Endless})
	}
	for range 2 {
		c.Ended(&Machine{tb: t, machine: &machine{figures: figures{boots: 6, cpu: 30 * time.Second}}}, 4)
	}
	text := c.Markdown()
	for _, want := range []string{
		"seed 7 |", "| boots | 12 |", "| experiments | 2 |", "| power cuts | 6: 1 at random moments, 5 at " +
			"exact steps |", "| steps cut, differs | 1 |", "| steps cut, first boot | 2 of 24 |",
		"| completed results at the ends | 8 |", "lost** | **1** |", "counted twice** | **0** |",
		"could not be read** | **0** |", "did not end** | **2** |",
		"1m0s of processor time",
	} {
		must.Contain(t, text, want)
	}
	t.Setenv(envLogs, t.TempDir())
	c.Log(t)
}

func TestHarmsHaveKinds(t *testing.T) {
	dir := experiment(t)
	earlier, e := read(t, dir), read(t, dir)
	e.Records = e.Records[1:] // completed
	kinds := map[HarmKind]int{}
	for _, h := range e.Harms(earlier) {
		kinds[h.Kind]++
	}
	must.Be(t, kinds[Lost] == 2 && len(kinds) == 1, "a completed record that is gone", e.Harms(earlier),
		"want it lost, twice seen")
	e = read(t, dir)
	e.Records = e.Records[:2] // without the one that is to run again
	h := e.Harms(earlier)
	must.Be(t, len(h) == 1 && h[0].Kind == Wrong, "a record of a lost attempt that is gone", h)
	h = e.Harms(nil)
	must.Be(t, h == nil, "without an earlier state", h)
}
