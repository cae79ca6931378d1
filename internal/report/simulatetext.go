package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"krund/internal/analysis/sequential"
	"krund/internal/display"
)

// SimulateText prints what stopping policies would have saved in recorded experiments, a row for
// each.
func SimulateText(w io.Writer, s *sequential.Simulation) {
	r := s.Replays[0]
	fmt.Fprintf(w, "What would stopping early have saved? %s: %s of the executions.\n\n",
		strings.TrimSpace(r.Policy+" "+halfWidthText(r)), savedText(r.Executions.Share()))
	var rows [][]string
	seconds := false
	for _, r := range s.Replays {
		seconds = seconds || r.Seconds.All > 0
	}
	for _, r := range s.Replays {
		row := []string{
			r.Policy, halfWidthText(r), strconv.Itoa(int(r.Executions.All)),
			strconv.Itoa(int(r.Executions.Needed)), savedText(r.Executions.Share()),
			savedText(r.Iterations.Share()),
		}
		if seconds {
			row = append(row, display.Seconds(r.Seconds.All-r.Seconds.Needed))
		}
		rows = append(rows, append(row, keptText(r.Level), keptText(r.Within[0]), keptText(r.Class),
			keptText(r.Similar), keptText(r.Verdict)))
	}
	columns := []string{"policy", ">half width", ">executions", ">needed", ">saved", ">iterations saved"}
	if seconds {
		columns = append(columns, ">time saved")
	}
	display.Table(w, append(columns, ">level", ">within 1 %", ">class", ">alike", ">verdict"), rows)
	fmt.Fprintf(w, "\n%s, alpha %v, at least %s of each.\n"+
		"The last five columns are the conclusions of all executions that are kept: the\n"+
		"interval at the end covers the level, the level is within 1 %%, most executions\n"+
		"are of the same class, they are alike or unlike, and the verdict of each arm.\n",
		display.Count(len(s.Replays[0].Groups), "key"), s.Alpha, display.Count(s.Minimum, "execution"))
	if i := s.Identical; i != nil {
		fmt.Fprintf(w, "\nIdentical code: %d of %s had a false verdict at any look (%s to %s; wanted "+
			"at most %s).\n", i.False, display.Count(i.Tables, "table"), savedText(i.Low), savedText(i.High),
			savedText(s.Alpha))
	}
}

// halfWidthText is the wanted half width; "" for a policy that does not ask for one.
func halfWidthText(r *sequential.Replay) string {
	if !r.AsksHalfWidth() {
		return ""
	}
	return "±" + strconv.FormatFloat(100*r.HalfWidth, 'g', 3, 64) + " %"
}

func savedText(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func keptText(k sequential.Kept) string {
	if k.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", k.Same, k.Of)
}
