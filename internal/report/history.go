package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/history"
	"krund/internal/display"
)

// EventsTable lists what happened, the newest last; what made it is its caption.
func EventsTable(h *history.History) Table {
	t := Table{Caption: historyHeadline(h), Columns: []Head{"what", "since", "keys", "change", "why"}}
	for i := range h.Events {
		e := &h.Events[i]
		what := fmt.Sprintf("#%d %s", i+1, e.Verdict)
		if e.Machine != "" {
			what += " on " + e.Machine
		}
		if e.Muted {
			what += " (muted)"
		}
		keys, change := e.Keys[0].Name, signed(e.Median, twoDigits)
		if n := len(e.Keys); n > 1 {
			keys = fmt.Sprintf("%d of %s, most %s", n, display.Count(e.Of, "key"), keys)
			var parts []string
			if faster := n - e.Slower; faster > 0 {
				parts = append(parts, fmt.Sprintf("%d faster, to %s", faster, signed(e.Least, twoDigits)))
			}
			if e.Slower > 0 {
				parts = append(parts, fmt.Sprintf("%d slower, to %s", e.Slower, signed(e.Most, twoDigits)))
			}
			change = strings.Join(parts, "; ")
		}
		t.Add(what, culprits(h, e.First, e.Version, e.Last), keys, change, e.Evidence)
		if len(e.Differs) > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("#%d: %s", i+1, differsText(e.Differs)))
		}
	}
	if len(h.Events) > 0 {
		t.Notes = append(t.Notes,
			"verdicts are evidence, not tests: measuring again (--confirm) has an error rate")
	}
	for i := range h.Replaced {
		t.Notes = append(t.Notes, seamNotes(h, &h.Replaced[i])...)
	}
	return t
}

// eventsText writes the table of events for a terminal of so many columns: a block of lines each.
func eventsText(w io.Writer, h *history.History, width int) {
	t := EventsTable(h)
	line := func(text, indent string) {
		fmt.Fprintln(w, display.Wrap(display.PlainLine(text), width, indent))
	}
	line(t.Caption, "")
	for _, row := range t.Rows {
		fmt.Fprintln(w)
		line(fmt.Sprintf("%s: %s: %s: %s", row[0], row[1], row[2], row[3]), "    ")
		line(fmt.Sprintf("    %s", row[4]), "    ")
	}
	t = Table{Narrow: width, Notes: t.Notes}
	fmt.Fprint(w, t.text())
}

func seamText(s *history.Seam) string {
	if s.Old == s.New {
		return strings.TrimSpace(s.New + " was changed")
	}
	return s.New + " replaced " + s.Old
}

// seamNotes says which keys go on where a machine was replaced, and what else differs.
func seamNotes(h *history.History, s *history.Seam) []string {
	joined, from := s.Joined(), "the end"
	if s.Version < len(h.Versions) {
		from = h.Versions[s.Version].Label
	}
	what := seamText(s)
	text := fmt.Sprintf("%s from %s on: %d of %s go on, by %s", what, from, len(joined),
		display.Count(len(s.Keys), "key"), display.Count(len(s.Revisions), "revision"))
	switch {
	case len(s.Revisions) == 0:
		text += "; measure some revisions on both"
	case len(joined) > 0:
		byRatio := func(a, b history.SeamKey) int { return cmp.Compare(a.Ratio, b.Ratio) }
		least, most := slices.MinFunc(joined, byRatio), slices.MaxFunc(joined, byRatio)
		text += fmt.Sprintf("; their times change by %s (%s) to %s (%s)", signed(least.Ratio, threeDigits),
			least.Name, signed(most.Ratio, threeDigits), most.Name)
	}
	notes := []string{text}
	for _, k := range s.Keys {
		if k.Reason != "" && len(s.Revisions) > 0 {
			notes = append(notes, k.Name+" does not go on: "+k.Reason)
		}
	}
	if len(s.Other) > 0 {
		notes = append(notes, "not compared, because programs differ: "+strings.Join(s.Other, ", "))
	}
	if len(s.Differs) > 0 {
		notes = append(notes, what+": "+differsText(s.Differs))
	}
	return notes
}

// differsText names what was recorded otherwise after an event than before.
func differsText(list []history.Difference) string {
	const most, short = 4, 12 // differences; characters of a hash
	var parts []string
	for _, d := range list[:min(len(list), most)] {
		if strings.HasPrefix(d.Name, "program.") {
			d.Before, d.After = d.Before[:min(len(d.Before), short)], d.After[:min(len(d.After), short)]
		}
		parts = append(parts, fmt.Sprintf("%s %s → %s", d.Name, cmp.Or(d.Before, "unknown"),
			cmp.Or(d.After, "unknown")))
	}
	text := strings.Join(parts, "; ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf("; and %d more (--format json)", n)
	}
	return text
}

// historyHeadline is the answer: how many events of which kind there are.
func historyHeadline(h *history.History) string {
	counts := map[history.Verdict]int{}
	for _, e := range h.Events {
		if !e.Muted {
			counts[e.Verdict]++
		}
	}
	var parts []string
	for _, v := range []history.Verdict{history.ByProgram, history.ByBuild, history.ByMachine,
		history.Undecided} {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	blind, needed := 0, 0
	for i := range h.Keys {
		if k := &h.Keys[i]; k.Detectable == 0 && len(k.Changes) == 0 {
			blind, needed = blind+1, max(needed, k.Needed)
		}
	}
	examined := func(k history.KeyHistory) bool { return k.Reason == "" }
	what := "nothing changed"
	switch {
	case len(parts) > 0:
		what = "what changed: " + strings.Join(parts, ", ")
	case len(h.Keys) > 0 && !slices.ContainsFunc(h.Keys, examined):
		what = "cannot tell what changed: " + h.Keys[0].Reason
	case blind == len(h.Keys):
		what = "cannot tell what changed: in no key would a slowdown be found within 5 versions, at even odds"
		if needed > len(h.Versions) {
			what = fmt.Sprintf("cannot tell what changed: that takes at least %d versions", needed)
		}
	case blind > 0:
		what += fmt.Sprintf(", as far as it can be told: not for %s", display.Count(blind, "key"))
	}
	return fmt.Sprintf("%s (%s, %s)", what, display.Count(len(h.Versions), "version"),
		display.Count(len(h.Keys), "key"))
}

// HistoryTable lists the changes of all keys, and what would have been found in each. base is the
// unit of the values.
func HistoryTable(h *history.History, base string) Table {
	t := Table{Columns: []Head{"key", ">change", ">from", ">to", "culprit", "found with", ">would show",
		"note"}}
	for i := range h.Keys {
		k := &h.Keys[i]
		would := "-"
		if k.Detectable > 0 {
			would = signed(1+k.Detectable, twoDigits)
		}
		for j := range k.Changes {
			c := &k.Changes[j]
			t.Add(historyKey(k), sizeText(c), levelText(c.Before, base), levelText(c.After, base),
				culprits(h, c.First, c.Version, c.Last), versionLabel(h, c.Found), would,
				historyNote(h, k, c, base))
		}
		if len(k.Changes) == 0 {
			t.Add(historyKey(k), "none", lastLevel(k, base), "", "", "", would, historyNote(h, k, nil, base))
		}
	}
	t.Notes = historyNotes(h)
	return t
}

// twoDigits writes a percentage with two significant digits, without an exponent.
func twoDigits(v float64) string {
	const whole, least = 9.95, 0.001
	if v >= whole || v < least {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// sizeText writes the size of a change with its interval, all by one rule of rounding.
func sizeText(c *history.Change) string {
	bound := func(v float64) string { return strings.TrimSuffix(signed(v, twoDigits), " %") }
	return fmt.Sprintf("%s (%s, %s)", signed(c.Ratio, twoDigits), bound(c.Low), bound(c.High))
}

func historyKey(k *history.KeyHistory) string {
	if k.Machine == "" {
		return k.Key
	}
	return k.Key + " on " + k.Machine
}

func levelText(v float64, base string) string { return display.UnitOf(base).Value(v) }

func lastLevel(k *history.KeyHistory, base string) string {
	if len(k.Levels) == 0 {
		return ""
	}
	return levelText(k.Levels[len(k.Levels)-1].Value, base)
}

// notFound says why nothing would have been found in a key that has no change; "" if it would.
func notFound(k *history.KeyHistory) string {
	switch {
	case k.Reason != "":
		return k.Reason
	case k.Detectable > 0:
		return ""
	case k.Needed > 0 && len(k.Levels) == 1:
		return fmt.Sprintf("%s: a change takes at least %d", display.Count(len(k.Points), "version"),
			k.Needed)
	}
	return "no slowdown would be found within 5 versions, at even odds"
}

// versionLabel is the label of a version; a whole hash of a revision is shortened.
func versionLabel(h *history.History, version int) string {
	const short, whole = 12, 40
	v := h.Versions[version]
	if rest, ok := strings.CutPrefix(v.Label, v.Revision); ok && len(v.Revision) >= whole &&
		strings.Trim(v.Revision, "0123456789abcdef") == "" {
		return v.Revision[:short] + rest
	}
	return v.Label
}

// culprits is the version that most probably made a change, and those that may have.
func culprits(h *history.History, from, version, to int) string {
	switch own := versionLabel(h, version); to - from {
	case 0:
		return own
	case 1:
		return fmt.Sprintf("%s (or %s)", own, versionLabel(h, from+to-version))
	default:
		return fmt.Sprintf("%s (one of %d, %s to %s)", own, to-from+1, versionLabel(h, from),
			versionLabel(h, to))
	}
}

// historyNote says of a key what else is known, and of a change of it.
func historyNote(h *history.History, k *history.KeyHistory, c *history.Change, base string) string {
	var parts []string
	if c == nil {
		c = &history.Change{}
		if why := notFound(k); why != "" {
			parts = append(parts, why)
		}
	}
	if c.Low < 1 && c.High > 1 { // that something changed is surer than by how much
		parts = append(parts, "small; size uncertain")
	}
	if c.Muted {
		parts = append(parts, strings.TrimSuffix("muted: "+c.MuteReason, ": "))
	}
	if len(c.Controls) > 0 {
		parts = append(parts, "perhaps the machine: "+strings.Join(c.Controls, ", ")+
			" changed too, and must not")
	}
	seams, own := h.Seams(k)
	for i, s := range seams {
		parts = append(parts, fmt.Sprintf("%s, %s: earlier times are converted", seamText(&s),
			changeText(own[i].Ratio, own[i].Low, own[i].High)))
	}
	if k.Autocorrelation > 0 {
		parts = append(parts, fmt.Sprintf("it drifts: versions resemble the one before (correlation %.2f)",
			k.Autocorrelation))
	}
	if s := k.States; s != nil {
		n := s.OfLow + s.OfHigh
		parts = append(parts, fmt.Sprintf("two states: %.0f%% of the last %d executions take %s, the "+
			"others %s", 100*float64(s.OfLow)/float64(n), n, levelText(s.Low, base), levelText(s.High, base)))
	}
	return strings.Join(parts, "; ")
}

func historyNotes(h *history.History) []string {
	found := make([]float64, len(h.Keys))
	for i := range h.Keys {
		if found[i] = h.Keys[i].Detectable; found[i] == 0 {
			found[i] = math.Inf(1)
		}
	}
	slices.Sort(found)
	half := "in less than half of the keys any slowdown would be found within 5 versions, at even odds"
	if n := len(found); n > 0 && !math.IsInf(found[(n-1)/2], 1) {
		half = fmt.Sprintf("half of the keys would show a slowdown of %s %%: found within 5 versions, at "+
			"even odds", twoDigits(100*found[(n-1)/2]))
	}
	return []string{
		half,
		fmt.Sprintf("%s in %s of %s", display.Count(h.Alerts(), "alert"), display.Count(len(h.Keys), "key"),
			display.Count(len(h.Versions), "version")),
		fmt.Sprintf("all keys together have at most %g false alerts per version, on average", h.Rate),
		fmt.Sprintf("intervals and culprits: %g%%", 100*h.Confidence),
	}
}

// HistoryCSV writes a row for each point of each key; the columns of changes are empty elsewhere.
func HistoryCSV(w io.Writer, h *history.History) error {
	type named struct {
		*history.Change
		First string `json:"culprit_first"`
		Last  string `json:"culprit_last"`
		Found string `json:"found_with"`
	}
	type row struct {
		Key     string `json:"key"`
		Machine string `json:"machine"`
		Version string `json:"label"`
		history.Point
		Change *named `json:"c"`
	}
	var rows []row
	for _, k := range h.Keys {
		for _, p := range k.Points {
			one := row{k.Key, k.Machine, h.Versions[p.Version].Label, p, nil}
			for i := range k.Changes {
				if c := &k.Changes[i]; c.Version == p.Version {
					one.Change = &named{c, h.Versions[c.First].Label, h.Versions[c.Last].Label,
						h.Versions[c.Found].Label}
				}
			}
			rows = append(rows, one)
		}
	}
	return tableOf(`key machine version=label executions value low high
		change_ratio=c.ratio change_low=c.low change_high=c.high culprit_first=c.culprit_first
		culprit_last=c.culprit_last found=c.found_with muted=c.muted`, rows).Write(w, CSV)
}
