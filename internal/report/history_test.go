package report

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/analysis/history"
	"krund/rig/must"
)

// TestHistoryText: an event is a block with its number, the most probable version first; what would
// have been found is beside every key, and the width is that of the terminal.
func TestHistoryText(t *testing.T) {
	hash := strings.Repeat("0123456789", 4)
	h := &history.History{Rate: 0.01, Confidence: 0.95, Versions: []history.Version{{Label: "a"},
		{Label: "b, night 2", Revision: "b"}, {Label: hash + ", night 3", Revision: hash}}}
	change := history.Change{Version: 2, First: 1, Last: 2, Found: 2, Before: 1, After: 1.003,
		Ratio: 1.003, Low: 0.994, High: 1.012}
	h.Keys = []history.KeyHistory{{Key: "x", Machine: "m", Changes: []history.Change{change},
		Detectable: 0.036},
		{Key: "y", Machine: "m", Levels: []history.Level{{Value: 2}, {Value: 2}}}}
	h.Events = []history.Event{{Machine: "m", Version: 2, First: 0, Last: 2, Verdict: history.Undecided,
		Of: 26, Keys: []history.EventKey{{Name: "x"}, {Name: "y"}, {Name: "z"}}, Slower: 1, Median: 0.99,
		Least: 0.9115, Most: 1.011, Evidence: "nothing tells"},
		{Version: 2, First: 1, Last: 2, Verdict: history.ByProgram,
			Keys: []history.EventKey{{Name: "x"}}, Median: 1.0372, Muted: true, Evidence: "seen"}}
	write := func(v HistoryView) string {
		var b strings.Builder
		v.Unit = "s"
		must.Do(t, WriteHistory(&b, h, v))
		return b.String()
	}
	text := write(HistoryView{Format: "text", Width: 70})
	for _, want := range []string{"what changed: 1 undecided (3 versions, 2 keys)\n",
		"\n#1 undecided on m: 012345678901, night 3 (one of 3, a to 012345678901,\n    night 3): 3 of 26 " +
			"keys, most x: 2 faster, to −8.9 %; 1 slower, to\n    +1.1 %\n    nothing tells\n",
		"\n#2 program (muted): 012345678901, night 3 (or b, night 2): x: +3.7 %\n    seen\n",
		"verdicts are evidence, not tests", "half of the keys would show a slowdown of 3.6 %",
	} {
		must.Contain(t, text, want)
	}
	wide := write(HistoryView{Format: "text"})
	for _, want := range []string{"+0.3 % (−0.6, +1.2)", "+3.6 %  small; size uncertain",
		"no slowdown would be found within 5 versions, at even odds"} {
		must.Contain(t, wide, want)
	}
	must.Contain(t, write(HistoryView{Format: "markdown"}), `| \#1 undecided on m | 012345678901, night 3`)
	h.Keys[0].Points = []history.Point{{Value: 1, Low: 0.99, High: 1.01}, {Version: 2, Value: 1.003}}
	for format, want := range map[string]string{"svg": ">+0.3 % undecided</text>", "html": "</svg>",
		"csv": "x,m,a,0,1,0.99,1.01,"} {
		must.Contain(t, write(HistoryView{Format: format}), want, format)
	}
	for i := range 20 {
		h.Keys = append(h.Keys, history.KeyHistory{Key: fmt.Sprint("k", i)})
	}
	must.Contain(t, write(HistoryView{Format: "text"}), "22 keys are in --alerts, or one with --key KEY")
	h.Events, h.Keys = nil, []history.KeyHistory{{Key: "x", Reason: "a value is not positive"}}
	text = write(HistoryView{Format: "markdown"})
	must.Contain(t, text, "cannot tell what changed: a value is not positive (3 versions, 1 key)")
	must.Be(t, !strings.Contains(text, "| what "), "a table without rows:", text)
	var b strings.Builder
	none := history.Injected{Size: 0.01, Within: []history.InjectedWithin{{Versions: 3}}}
	must.Do(t, WriteInjected(&b, &none, "text"))
	must.Contain(t, b.String(), "3 versions      -       0")
}
