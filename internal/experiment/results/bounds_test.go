package results_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// crowd is the record of a benchmark that left thousands of processes behind.
func crowd() results.Record {
	r := of(0, 1, "crowd")
	many := make([]string, 4096)
	for i := range many {
		many[i] = fmt.Sprintf("process %d (sh) of the benchmark cannot be killed: state D", 4_000_000+i)
	}
	long := strings.Repeat("x", 1<<20)
	r.Reasons, r.Process.Findings, r.Machine.KernelLog.Lines = append([]string{long},
		many...), many, slices.Repeat(many, 10)
	r.Library = &results.Library{State: "done", Error: long, Findings: many}
	r.CounterReason, r.Process.CgroupReason = long, long
	r.Process.NotStarted = &results.StartFailure{Step: "exec", Text: long}
	return r
}

// TestTextsAreBounded: a record keeps the first elements of a long list and says how many are
// missing.
func TestTextsAreBounded(t *testing.T) {
	r := crowd()
	fsys := crashfs.New("/r")
	add := results.NewAppender(fsys, "/r")
	for range 2 { // appending the same record again changes nothing
		must.Do(t, add.Append(r))
	}
	got := must.Get(results.NewReader(fsys, "/r").Load(results.Name{Slot: 0, Attempt: 1}))(t)
	for name, list := range map[string][]string{
		"reasons": got.Reasons, "findings": got.Process.Findings, "library": got.Library.Findings,
		"kernel log": got.Machine.KernelLog.Lines,
	} {
		last := list[len(list)-1]
		must.Be(t, len(list) <= 1000 && len(strings.Join(list, "")) <= 256<<10 &&
			strings.HasSuffix(last, " more of these were left out"), name, len(list), "lines, the last", last)
	}
	text, err := got.MarshalJSON()
	must.Be(t, err == nil && len(text) <= 600<<10, "the record", len(text), "bytes", err)
	bounded := r.Bounded()
	must.Be(t, reflect.DeepEqual(bounded, bounded.Bounded()),
		"bounding a record twice is not bounding it once")
	must.Be(t, len(r.Process.Findings) == 4096 && len(r.Library.Findings) == 4096,
		"the caller's record has changed")
	small := of(0, 2, "small")
	must.Be(t, reflect.DeepEqual(small, small.Bounded()), small, "became", small.Bounded())
}

// TestSeriesAreBounded: what readers would reject is not written.
func TestSeriesAreBounded(t *testing.T) {
	must.Long(t)
	r := of(0, 1, "series")
	values := slices.Repeat([]int64{math.MinInt64 + 1}, 1<<20) // 21 bytes each
	for range 50 {
		r.Columns = append(r.Columns, results.Column{Name: "c", Kind: results.KindUser, Values: values})
	}
	fsys := crashfs.New("/r")
	err := results.NewAppender(fsys, "/r").Append(r)
	must.Be(t, errors.Is(err, results.ErrTooLarge) && len(fsys.Files()) == 0, err, "and", len(fsys.Files()),
		"files")
	b := r.Bounded()
	must.Be(t, b.Outcome == results.Error && b.Columns == nil && b.WallNS == nil &&
		strings.Contains(b.Reasons[0], "too large to be read"), "outcome", b.Outcome, len(b.Columns),
		"columns", b.Reasons)
	must.Do(t, results.NewAppender(fsys, "/r").Append(b))
}
